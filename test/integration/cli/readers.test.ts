/** Standard output that is read late or not at all. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { EXIT } from '../../../packages/client/src/cli/exit-codes.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const MAIN = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url));
/** Number of pipelines whose output is larger than the buffers of a pipe and a socket. */
const MANY = 100;
/** Time in milliseconds after which the process would have ended if it did not wait for its reader. */
const LATE_MS = 1_500;

const file = path.join(temporaryDirectory(), 'many.yaml');
const pipelines = Array.from({ length: MANY }, (_, n) => ({
  name: `pipeline-${n}`,
  source: { topic: `content-${n}` },
}));
const config = {
  kafka: { brokers: ['127.0.0.1:9092'] },
  service: { baseUrl: 'http://127.0.0.1:9', apiKey: { env: 'PATH' } },
  pipelines,
};
writeFileSync(file, stringify(config));

function check(): ReturnType<typeof spawn> {
  return spawn(process.execPath, [MAIN, 'check', '--config', file], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** Resolves when the process has written output, which then waits for a reader. */
async function written({ stdout }: ReturnType<typeof spawn>): Promise<void> {
  await once(stdout as NodeJS.ReadableStream, 'readable');
}

test('a slow reader receives all of a long output', { timeout: 600_000 }, async () => {
  const child = check();
  const closed = once(child, 'close');
  await written(child);
  await sleep(LATE_MS);
  const out = (await child.stdout?.setEncoding('utf8').toArray())?.join('') ?? '';
  assert.deepEqual(await closed, [EXIT.ok, null]);
  assert.ok(out.length > 256 * 1024, `${out.length} characters`);
  assert.match(out, new RegExp(`pipelines\\[${MANY - 1}\\]\\.source\\.topic .*\\n`));
  assert.ok(out.endsWith('\n'));
});

test('a reader that closes the pipe causes no error and does not change the exit code', {
  timeout: 600_000,
}, async () => {
  const child = check();
  const closed = once(child, 'close');
  let err = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  await written(child);
  child.stdout?.destroy();
  assert.deepEqual([await closed, err], [[EXIT.ok, null], '']);
});
