/**
 * Versions of the connector that replicas of one group run side by side, oldest first: the pinned one, which every clone has
 * (dev/upgrade/pin.ts), the newest commit with other sources, where the clone knows one, and the working tree.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  PINNED_ARCHIVE,
  PINNED_NOTE,
  type PinnedNote,
  RUNNABLE,
} from '../../../dev/upgrade/pinned.ts';

export interface Build {
  readonly name: string;
  /** Arguments of node that start its command line. */
  readonly connector: readonly string[];
}

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const COMMAND_LINE = 'src/cli/main.ts';
/** That are looked at for one that starts. */
const MOST_COMMITS = 6;

/**
 * @param directory gets the old sources
 * @throws Error when the pinned version cannot run with the packages that are installed
 */
export function allBuilds(directory: string): [Build, ...Build[]] {
  const { version, commit, date } = JSON.parse(readFileSync(PINNED_NOTE, 'utf8')) as PinnedNote;
  const pinned = unpack(
    `${version} of ${date} (${commit.slice(0, 7)})`,
    path.join(directory, 'pinned'),
    PINNED_ARCHIVE.pathname,
  );
  if (pinned === undefined)
    throw new Error(
      `a package that ${version} of ${date} needs is gone: pin a newer version with dev/upgrade/pin.ts`,
    );
  const previous = previousCommit(directory);
  const here: Build = { name: 'working tree', connector: [path.join(ROOT, COMMAND_LINE)] };
  return previous === undefined ? [pinned, here] : [pinned, previous, here];
}

/** undefined when a package is missing: the packages are those of the working tree. */
function unpack(name: string, directory: string, archive: string): Build | undefined {
  mkdirSync(directory);
  execFileSync('tar', ['-xf', archive, '-C', directory]);
  const { dependencies } = JSON.parse(
    readFileSync(path.join(directory, 'package.json'), 'utf8'),
  ) as { dependencies: object };
  const packages = path.join(ROOT, 'node_modules');
  if (!Object.keys(dependencies).every((one) => existsSync(path.join(packages, one))))
    return undefined;
  symlinkSync(packages, path.join(directory, 'node_modules'));
  return { name, connector: [path.join(directory, COMMAND_LINE)] };
}

/**
 * The newest commit that starts and has other sources than the working tree.
 * @returns undefined where history does not reach as far: in a shallow clone, or without git
 */
function previousCommit(directory: string): Build | undefined {
  for (const commit of commitsBefore()) {
    const archive = path.join(directory, `${commit}.tar`);
    // A commit may lack one of the folders.
    const present = git('ls-tree', '--name-only', commit, ...RUNNABLE).split('\n');
    git('archive', '--format=tar', '-o', archive, commit, ...present);
    const build = unpack(`commit ${commit.slice(0, 7)}`, path.join(directory, commit), archive);
    if (build !== undefined && starts(path.join(directory, commit))) return build;
  }
  return undefined;
}

/** Newest first. */
function commitsBefore(): string[] {
  try {
    const commits = git('rev-list', `-${MOST_COMMITS}`, 'HEAD', '--', 'src', 'packages').split(
      '\n',
    );
    return git('status', '--porcelain', '--', 'src', 'packages') === ''
      ? commits.slice(1)
      : commits;
  } catch {
    return [];
  }
}

/** A commit may lack a file that came with the next one. */
function starts(directory: string): boolean {
  const load = `await import(${JSON.stringify(path.join(directory, 'src/app/run.ts'))}); process.exit(0);`;
  return (
    spawnSync(process.execPath, ['--input-type=module', '--eval', load], { stdio: 'ignore' })
      .status === 0
  );
}

const git = (...args: readonly string[]): string =>
  execFileSync('git', args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'ignore'] })
    .toString()
    .trim();
