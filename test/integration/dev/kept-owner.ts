/** Owns a kept child with a child of its own, and a kept directory, until it is killed (kept-process.test.ts). */
import { keepDirectory, spawnKept } from '../../../dev/process/kept.ts';

const directory = await keepDirectory(process.argv[2] ?? '');
const grandchild = Promise.withResolvers<number>();
const child = await spawnKept({
  command: 'sh',
  // The child ignores what a terminal would send it: only the keeper can end it.
  args: ['-c', 'trap "" INT TERM HUP; sleep 300 & echo $!; wait'],
  onLine: (line) => grandchild.resolve(Number(line)),
});
process.stdout.write(
  `${JSON.stringify({ child: child.pid, grandchild: await grandchild.promise, directory: directory.path })}\n`,
);
