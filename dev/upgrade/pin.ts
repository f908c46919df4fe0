/**
 * Keeps a version of the connector, so that upgrades from it are tested in clones of any depth:
 *
 *   npm run upgrade:pin -- <commit or tag>
 *
 * Run it when a version is released, with its tag, and commit what it writes.
 */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { PINNED_ARCHIVE, PINNED_NOTE, type PinnedNote, RUNNABLE } from './pinned.ts';

const git = (...args: readonly string[]) =>
  execFileSync('git', args, {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    maxBuffer: 64 * 1024 * 1024,
  });

const [revision] = process.argv.slice(2);
if (revision === undefined) {
  process.stderr.write('usage: npm run upgrade:pin -- <commit or tag>\n');
  process.exit(2);
}
const commit = git('rev-parse', '--verify', `${revision}^{commit}`).toString().trim();
const { version } = JSON.parse(git('show', `${commit}:package.json`).toString()) as {
  version: string;
};
const date = git('show', '--no-patch', '--format=%cs', commit).toString().trim();
writeFileSync(PINNED_ARCHIVE, git('archive', '--format=tar.gz', '-9', commit, ...RUNNABLE));
const note: PinnedNote = { version, commit, date };
writeFileSync(PINNED_NOTE, `${JSON.stringify(note, null, 2)}\n`);
process.stdout.write(`kept ${version} of ${date} (${commit.slice(0, 7)})\n`);
