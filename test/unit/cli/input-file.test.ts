import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { open } from 'node:fs/promises';
import path from 'node:path';
import { it } from 'node:test';
import { openInput } from '../../../src/cli/files/input-file.ts';
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
  const progress: number[] = [];
  const opened = openInput(name, new AbortController().signal, (bytes) => progress.push(bytes));
  const writer = await open(name, 'w');
  await writer.writeFile('Content\n');
  await writer.writeFile('Hello\n');
  await writer.close();
  const input = await opened;
  let text = '';
  for await (const chunk of input.read()) text += chunk.toString();
  assert.equal(text, 'Content\nHello\n');
  assert.deepEqual([input.bytes, progress.at(-1)], [14, 14]);
  await input.close();
});

it('a named pipe without a writer is closed when the signal aborts, however early', {
  timeout: 20_000,
}, async () => {
  const reason = new Error('enough');
  for (const ticks of [0, 1, 5, 50]) {
    const stop = new AbortController();
    const opened = openInput(pipe(), stop.signal, () => {});
    for (let n = 0; n < ticks; n++) await new Promise(setImmediate);
    stop.abort(reason);
    await assert.rejects(opened, (error) => error === reason);
  }
});
