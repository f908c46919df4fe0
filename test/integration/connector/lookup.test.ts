/** The lookup pipeline over a real broker and the sandbox: the decision behind each id, once, over the death of its owner. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { eventually } from '../../support/eventually.ts';
import { testKafka } from '../../support/kafka/kafka.ts';
import { startStack } from '../../support/stack/stack.ts';
import { liveJobs, setFaults } from '../../support/stack/stack-control.ts';
import { TerminalRecords } from '../../support/stack/terminal-records.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const PARTITIONS = 2;
const IDS = 60;
const PATIENCE_MS = 60_000;
const DECISIONS = Array.from({ length: IDS }, (_, n) => ({
  decision_id: `d-${n}`,
  content: `text ${n}`,
  metadata: { n: String(n) },
  result: 'approved',
}));

const kafka = await testKafka();
const directory = temporaryDirectory();

test('the decisions behind ids are published once they are made, although their owner is killed; unknown ids end as policy says', async () => {
  const stack = await startStack(kafka, directory, {
    partitions: PARTITIONS,
    pipeline: {
      kind: 'lookup',
      batch: { maxRows: 10, maxAge: '500ms' },
      review: { poll: { initial: '100ms', max: '500ms' }, missingGrace: '2s' },
    },
    config: { log: { level: 'debug' } },
    policy: {
      faults: [{ operation: 'get_decision', action: 'state', state: 'PENDING', times: 'always' }],
    },
  });
  after(() => stack.stop());
  const answer = await fetch(`${stack.sandboxUrl}/sandbox/decisions`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(DECISIONS),
  });
  assert.ok(answer.ok, await answer.clone().text());
  const source = await kafka.write(
    stack.topics.source,
    Array.from({ length: IDS }, (_, n) => ({
      partition: n % PARTITIONS,
      key: `k${n}`,
      value: n % 20 === 7 ? `nobody-${n}` : n % 20 === 9 ? '..' : `d-${n}`,
    })),
  );
  const first = await stack.startReplica();
  await eventually('lookups are pending', () => liveJobs(first) >= 4, { deadlineMs: PATIENCE_MS });
  first.process.kill('SIGKILL');
  await first.process.exited;
  await setFaults(stack, []);

  const second = await stack.startReplica();
  const terminal = new TerminalRecords(kafka, stack);
  await terminal.untilCount(source.length, PATIENCE_MS);
  await eventually(
    'nothing is in flight',
    async () => (await second.metric('items_in_flight')) === 0,
  );
  await terminal.refresh();
  terminal.assertOnceEach(source);
  assert.equal(await second.metric('balance_items'), 0);

  const found = (await kafka.readAll(stack.topics.decisions)).map(({ value }) =>
    JSON.parse(String(value)),
  );
  const letters = await kafka.readAll(stack.topics.deadLetters);
  assert.deepEqual([found.length, letters.length], [IDS - 3, 3]);
  for (const { decision_id, status, result, metadata, error } of found) {
    if (decision_id.startsWith('nobody'))
      assert.deepEqual([status, error.code], ['ERROR', 'decision_unknown']);
    else
      assert.deepEqual([status, result, metadata.n], ['SUCCESS', 'approved', decision_id.slice(2)]);
  }
});
