import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { eventually } from '../../support/eventually.ts';
import { testKafka } from '../../support/kafka/kafka.ts';
import { startStack } from '../../support/stack/stack.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const kafka = await testKafka();

test('content events come back as one decision each, with metadata deep-equal, and poison as dead letters', async () => {
  const stack = await startStack(kafka, temporaryDirectory(), {
    partitions: 3,
    pipeline: {
      batch: { maxRows: 100, maxAge: '300ms' },
      review: { poll: { initial: '50ms', max: '500ms' } },
    },
    config: { log: { level: 'debug' } },
  });
  after(() => stack.stop());
  const metadata = {
    user: { id: 12, tags: ['a', 'b'] },
    Status: 'mine',
    zip: '00123',
    score: 1.5,
    ok: true,
    none: null,
    text: 'line\r\n"quoted"',
  };
  await kafka.write(
    stack.topics.source,
    Array.from({ length: 500 }, (_, n) => ({
      partition: n % 3,
      key: `k${n}`,
      value:
        n % 50 === 7
          ? 'not json'
          : JSON.stringify({
              type: n % 2 ? 'post' : 'comment',
              content: `text ${n}`,
              metadata: { ...metadata, n },
            }),
    })),
  );
  const replica = await stack.startReplica();
  const decisions = kafka.reader(stack.topics.decisions);
  const letters = kafka.reader(stack.topics.deadLetters);
  const seen: { source: { partition: number; offset: number }; metadata: unknown }[] = [];
  let dead = 0;
  await eventually(
    'every record is settled',
    async () => {
      for (const record of await decisions.readToEnd()) seen.push(JSON.parse(String(record.value)));
      dead += (await letters.readToEnd()).length;
      return seen.length + dead >= 500;
    },
    { deadlineMs: 30_000 },
  ).catch((error) => {
    throw new Error(
      `${error.message}: ${seen.length} decisions, ${dead} dead letters\n${replica.lines.slice(-30).join('\n')}`,
    );
  });
  assert.equal(dead, 10);
  assert.equal(new Set(seen.map(({ source }) => `${source.partition}:${source.offset}`)).size, 490);
  for (const { metadata: back, source } of seen) {
    assert.deepEqual(back, { ...metadata, n: source.offset * 3 + source.partition });
  }
  assert.equal(
    await eventually('the balance is even', async () =>
      (await replica.metric('items_in_flight')) === 0 ? 'even' : undefined,
    ),
    'even',
  );
  assert.equal(await replica.metric('balance_items'), 0);
  replica.process.kill('SIGTERM');
  const { code } = await replica.process.exited;
  assert.equal(code, 0, replica.lines.slice(-10).join('\n'));
});
