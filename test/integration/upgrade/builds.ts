/** Versions of the connector that share a group: the released one (dev/upgrade/pin.ts) and the working tree. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { PINNED_ARCHIVE, PINNED_NOTE, type PinnedNote } from '../../../dev/upgrade/pin.ts';

export interface Build {
  readonly name: string;
  /** Arguments of Node.js that start the command line. */
  readonly connector: readonly string[];
}

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const COMMAND_LINE = 'src/cli/main.ts';

export const WORKING_TREE: Build = {
  name: 'working tree',
  connector: [path.join(ROOT, COMMAND_LINE)],
};

/**
 * Unpacks the released version, which runs with the packages of the working tree.
 * @param directory an empty directory
 * @throws Error if one of its packages is no longer installed
 */
export function releasedBuild(directory: string): Build {
  const { version, commit } = JSON.parse(readFileSync(PINNED_NOTE, 'utf8')) as PinnedNote;
  execFileSync('tar', ['-xf', fileURLToPath(PINNED_ARCHIVE), '-C', directory]);
  const { dependencies } = JSON.parse(
    readFileSync(path.join(directory, 'package.json'), 'utf8'),
  ) as { dependencies: object };
  const packages = path.join(ROOT, 'node_modules');
  const gone = Object.keys(dependencies).filter((one) => !existsSync(path.join(packages, one)));
  if (gone.length > 0)
    throw new Error(`${version} needs ${gone.join(', ')}: pin a newer version (upgrade:pin)`);
  symlinkSync(packages, path.join(directory, 'node_modules'));
  return {
    name: `${version} (${commit.slice(0, 7)})`,
    connector: [path.join(directory, COMMAND_LINE)],
  };
}
