import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { open } from 'node:fs/promises';
import path from 'node:path';
import { it } from 'node:test';
import { pipeSource } from '../../../src/cli/files/pipe-source.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const DIRECTORY = temporaryDirectory();
let pipes = 0;
function pipe(): string {
  const name = path.join(DIRECTORY, String(++pipes));
  execFileSync('mkfifo', [name]);
  return name;
}

it('a named pipe is read to its end', async () => {
  const name = pipe();
  const [source, writer] = await Promise.all([
    pipeSource(name, new AbortController().signal),
    open(name, 'w'),
  ]);
  await writer.writeFile('Content\nHello\n');
  await writer.close();
  assert.equal((await source.setEncoding('utf8').toArray()).join(''), 'Content\nHello\n');
});

it('a named pipe that nobody writes to is let go when the signal aborts, however early', {
  timeout: 20_000,
}, async () => {
  const reason = new Error('enough');
  for (const turns of [0, 1, 5, 50]) {
    const stop = new AbortController();
    const opened = pipeSource(pipe(), stop.signal);
    for (let n = 0; n < turns; n++) await new Promise(setImmediate);
    stop.abort(reason);
    await assert.rejects(opened, (error) => error === reason);
  }
});
