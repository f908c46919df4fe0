/**
 * Archives the sources of a version, so that upgrades from it can be tested in clones of any depth:
 *
 *   npm run upgrade:pin -- <commit or tag>
 *
 * Run it with the tag when a version is released, and commit what it writes.
 */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const PINNED_ARCHIVE = new URL(
  '../../test/integration/upgrade/pinned.tar.gz',
  import.meta.url,
);
export const PINNED_NOTE = new URL('../../test/integration/upgrade/pinned.json', import.meta.url);

/** Files that a version needs to run from its sources, in addition to the npm packages. */
const RUNNABLE = ['src', ':(glob)packages/*/src/**', 'contracts', 'package.json'];

export interface PinnedNote {
  readonly version: string;
  readonly commit: string;
}

const git = (...args: readonly string[]) =>
  execFileSync('git', args, {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    maxBuffer: 64 * 1024 * 1024,
  });

if (import.meta.main) {
  const [revision] = process.argv.slice(2);
  if (revision === undefined) {
    process.stderr.write('usage: npm run upgrade:pin -- <commit or tag>\n');
    process.exit(2);
  }
  const commit = git('rev-parse', '--verify', `${revision}^{commit}`).toString().trim();
  const { version } = JSON.parse(git('show', `${commit}:package.json`).toString()) as {
    version: string;
  };
  writeFileSync(PINNED_ARCHIVE, git('archive', '--format=tar.gz', '-9', commit, ...RUNNABLE));
  const note: PinnedNote = { version, commit };
  writeFileSync(PINNED_NOTE, `${JSON.stringify(note, null, 2)}\n`);
  process.stdout.write(`kept ${version} (${commit.slice(0, 7)})\n`);
}
