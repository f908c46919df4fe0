/** Checks the output of a process that crashes: standard error and Node's diagnostic report (I6). */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { testKafka } from '../../support/kafka/kafka.ts';
import { assertSilent, CANARY } from '../../support/stack/canary.ts';
import { startStack } from '../../support/stack/stack.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

test('a connector that crashes during an upload does not reveal the content or the signed address', async () => {
  const kafka = await testKafka();
  const directory = temporaryDirectory();
  const reports = temporaryDirectory();
  const preload = path.join(directory, 'fail.mjs');
  // Throws an uncaught error while undici holds body and address.
  writeFileSync(
    preload,
    `import { subscribe } from 'node:diagnostics_channel';
subscribe('undici:request:bodySent', ({ request }) => {
  if (request.method !== 'PUT') return;
  const holds = /[?&]X-Amz-Signature=/.test(request.path);
  process.nextTick(() => { throw new Error(holds ? 'dies with a signed address' : 'dies without one'); });
});`,
  );
  const stack = await startStack(kafka, directory, {
    partitions: 1,
    pipeline: { batch: { maxRows: 4, maxAge: '200ms' } },
  });
  try {
    const events = Array.from({ length: 4 }, (_, n) => ({
      value: JSON.stringify({ type: 'post', content: `${CANARY.content} ${n}` }),
    }));
    await kafka.write(stack.topics.source, events);
    const flags = `--report-uncaught-exception --report-directory=${reports} --import ${preload}`;
    const replica = await stack.startReplica({ NODE_OPTIONS: flags });
    // spawnReplica searches the replica's output for secrets continuously.
    const { code } = await replica.process.exited;
    assert.notEqual(code, 0);
    assert.match(replica.lines.join('\n'), /dies with a signed address/);
    const [report = '', ...more] = readdirSync(reports);
    assert.deepEqual(more, []);
    const left = readFileSync(path.join(reports, report), 'utf8');
    assert.match(left, /dies with a signed address/);
    assertSilent(left, 'the report of the crash');
    const journal = await kafka.readAll(stack.topics.journal, { uncommitted: true });
    assert.ok(journal.length > 0);
    assertSilent(journal.map(({ key, value }) => `${key} ${value}`).join('\n'), 'the journal');
  } finally {
    await stack.stop();
  }
});
