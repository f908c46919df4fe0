/** Versions of the connector that run side by side in one group: the pinned one (dev/upgrade/pin.ts) and the working tree. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { PINNED_ARCHIVE, PINNED_NOTE, type PinnedNote } from '../../../dev/upgrade/pinned.ts';

export interface Build {
  readonly name: string;
  /** Arguments of node that start its command line. */
  readonly connector: readonly string[];
}

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const COMMAND_LINE = 'src/cli/main.ts';

/**
 * @param directory gets the sources of the pinned version
 * @throws Error when the pinned version cannot run with the packages that are installed
 */
export function bothBuilds(directory: string): { readonly pinned: Build; readonly here: Build } {
  const { version, commit, date } = JSON.parse(readFileSync(PINNED_NOTE, 'utf8')) as PinnedNote;
  const sources = path.join(directory, 'pinned');
  mkdirSync(sources);
  execFileSync('tar', ['-xf', PINNED_ARCHIVE.pathname, '-C', sources]);
  const { dependencies } = JSON.parse(readFileSync(path.join(sources, 'package.json'), 'utf8')) as {
    dependencies: object;
  };
  const packages = path.join(ROOT, 'node_modules');
  const gone = Object.keys(dependencies).filter((one) => !existsSync(path.join(packages, one)));
  if (gone.length > 0)
    throw new Error(
      `${version} of ${date} needs ${gone.join()}, which is not installed: pin a newer version with dev/upgrade/pin.ts`,
    );
  symlinkSync(packages, path.join(sources, 'node_modules'));
  return {
    pinned: {
      name: `${version} of ${date} (${commit.slice(0, 7)})`,
      connector: [path.join(sources, COMMAND_LINE)],
    },
    here: { name: 'working tree', connector: [path.join(ROOT, COMMAND_LINE)] },
  };
}
