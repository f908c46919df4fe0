/** Consumer of decisions and dead letters, tested with a real broker. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { RecordProducer } from '../../../../dev/kafka/send-records.ts';
import { eventually } from '../../../../test/support/eventually.ts';
import { bomb } from '../../../../test/support/kafka/hostile-batches.ts';
import { testKafka, uniqueName } from '../../../../test/support/kafka/kafka.ts';
import { RawProducer } from '../../../../test/support/kafka/raw-producer.ts';
import { temporaryDirectory } from '../../../../test/support/temporary-directory.ts';
import {
  consumeDecisions,
  type DecisionConsumerOptions,
  type ReceivedBatch,
  type ReceivedRecord,
} from '../../src/index.ts';

const kafka = await testKafka();
const directory = temporaryDirectory();
const DECISION = JSON.parse(readFileSync('contracts/examples/decision.json', 'utf8'));
const DEAD_LETTER = JSON.parse(readFileSync('contracts/examples/dead-letter.json', 'utf8'));

const decisionOf = (id: string) => JSON.stringify({ ...DECISION, id });
const headersOf = (id: string) =>
  Object.entries({ ...DEAD_LETTER, 'event-id': id }).map(
    ([name, value]) => [name, String(value)] as const,
  );

/** Log lines of all consumers, for messages of failures. */
const quiet: string[] = [];

async function start(
  options: Pick<DecisionConsumerOptions, 'process' | 'decisions'> &
    Partial<DecisionConsumerOptions>,
) {
  const consumer = await consumeDecisions({
    brokers: kafka.brokers,
    group: uniqueName('moderation'),
    log: (level, message, fields) => quiet.push(`${level} ${message} ${JSON.stringify(fields)}`),
    ...options,
  });
  after(() => consumer.stop());
  return consumer;
}

const idOf = (record: ReceivedRecord) =>
  record.kind === 'unreadable' ? record.problem : record.eventId;

const reached = (what: string, condition: () => boolean) =>
  eventually(what, condition, { deadlineMs: 30_000 }).catch((error: Error) => {
    throw new Error(`${error.message}\n${quiet.slice(-20).join('\n')}`);
  });

test('delivers no record of an aborted transaction, however transactions interleave, and none of an open one', async () => {
  const decisions = await kafka.createTopic('decisions');
  const producers = [0, 1, 2].map(
    (n) => new RecordProducer(kafka.brokers, { transactionalId: `${decisions}-${n}` }),
  );
  const expected: string[] = [];
  for (let round = 0; round < 6; round++) {
    for (const producer of producers) await producer.begin(decisions, [0]);
    const written: string[][] = producers.map(() => []);
    for (let turn = 0; turn < 3; turn++) {
      for (const [n, producer] of producers.entries()) {
        const id = `${round}/${n}/${turn}`;
        // Kafka's own abort marker has a similar key.
        const key = turn === 1 ? Buffer.alloc(4) : 'k';
        await producer.send(decisions, 0, [{ key, value: decisionOf(id) }]);
        written[n]?.push(id);
      }
    }
    for (const n of producers.keys()) {
      const ended = (n * 2 + round) % producers.length;
      const commits = (ended + round) % 3 === 0;
      if (commits) expected.push(...(written[ended] ?? []));
      await producers[ended]?.end(commits);
    }
  }
  const [open, other] = producers;
  await open?.begin(decisions, [0]);
  await open?.send(decisions, 0, [{ key: 'k', value: decisionOf('open') }]);
  await other?.begin(decisions, [0]);
  await other?.send(decisions, 0, [{ key: 'k', value: decisionOf('behind the open one') }]);
  await other?.end(true);

  const batches: ReceivedBatch[] = [];
  await start({ decisions, process: (batch) => void batches.push(batch) });
  const ids = () => batches.flatMap(({ records }) => records.map(idOf));
  await reached('all committed records', () => ids().length >= expected.length);
  assert.deepEqual(ids().sort(), expected.sort());
  await open?.end(true);
  await reached('the last two', () => ids().length >= expected.length + 2);
  assert.deepEqual(ids().slice(-2), ['open', 'behind the open one']);
  for (const [at, batch] of batches.entries())
    assert.equal(batch.from, batches[at - 1]?.to ?? 0, 'batches follow each other without a gap');
  await Promise.all(producers.map((producer) => producer.close()));
});

test('delivers any records that other programs write to the topics, and continues after them', async () => {
  const decisions = await kafka.createTopic('decisions');
  const deadLetters = await kafka.createTopic('dead-letters', { partitions: 2 });
  const raw = new RawProducer(kafka.brokers);
  after(() => raw.close());
  await kafka.write(decisions, [
    { value: null },
    { value: 'no JSON' },
    { value: '{"id":1}' },
    { value: JSON.stringify({ ...DECISION, status: 'LATER' }) },
    { value: Buffer.from([0, 0, 0, 0, 9, 1]), key: 'framed' },
    { value: decisionOf('first'), headers: [['__proto__', 'x']] },
  ]);
  await raw.write(decisions, 0, bomb(200 * 1024 * 1024));
  await kafka.write(decisions, [{ value: decisionOf('last') }]);
  await kafka.write(deadLetters, [
    { value: 'no dead letter' },
    { partition: 1, value: '{"type":"comment"}', headers: headersOf('dead') },
  ]);
  const received: ReceivedRecord[] = [];
  const group = uniqueName('moderation');
  const options = { decisions, deadLetters, group };
  const consumer = await start({
    ...options,
    process: ({ records }) => void received.push(...records),
  });
  await reached('everything', () => received.length >= 10);
  const from = (topic: string) => received.filter((one) => one.topic === topic).map(idOf);
  assert.deepEqual(from(decisions), [
    'the record has no value',
    'the value cannot be decoded',
    'the value has no id and source of a decision',
    'the value must have status SUCCESS and no error, or status ERROR and an error',
    'the value begins with a schema id: set the option registry',
    'first',
    ...received.flatMap((one) =>
      one.kind === 'unreadable' && one.record === undefined ? [one.problem] : [],
    ),
    'last',
  ]);
  const damaged = received.find((one) => one.kind === 'unreadable' && one.record === undefined);
  assert.deepEqual(damaged?.kind === 'unreadable' && [damaged.offset, damaged.to], [6, 7]);
  const dead = received.find((one) => one.kind === 'dead-letter');
  assert.equal(dead?.deadLetter['dead-letter-reason'], DEAD_LETTER['dead-letter-reason']);
  assert.equal(String(dead?.value), '{"type":"comment"}');
  assert.deepEqual(from(deadLetters).sort(), ['dead', 'the record has no header event-id']);

  await consumer.stop();
  await kafka.write(decisions, [{ value: decisionOf('after a restart') }]);
  const again: string[] = [];
  await start({ ...options, process: ({ records }) => void again.push(...records.map(idOf)) });
  await reached('the record after the committed offset', () => again.length > 0);
  assert.deepEqual(again, ['after a restart']);
});

test('delivers the records again after a rejection of process, also if a reader of another topic is in its group', async () => {
  const decisions = await kafka.createTopic('decisions');
  const group = uniqueName('moderation');
  await kafka.write(decisions, [{ value: decisionOf('a') }]);
  const seen: string[] = [];
  await start({
    decisions,
    group,
    process({ records }) {
      seen.push(...records.map(idOf));
      if (seen.length < 3) throw new Error('the database is away');
    },
  });
  await reached('the third delivery', () => seen.length === 3);
  await kafka.write(decisions, [{ value: decisionOf('b') }]);
  await reached('what follows', () => seen.length > 3);
  assert.deepEqual(seen, ['a', 'a', 'a', 'b']);

  const other = await kafka.createTopic('decisions');
  await assert.rejects(
    start({ decisions: other, group, process: () => undefined }),
    /another kind of consumer uses this group id/,
  );
  await assert.rejects(
    start({ decisions: 'no-such-topic', process: () => undefined }),
    /create topic no-such-topic, or correct its name/,
  );
});

/** Starts a process that stores effects in a database (dying-consumer.ts), and collects its output lines. */
function storing(environment: Readonly<Record<string, string>>) {
  const file = fileURLToPath(new URL('./dying-consumer.ts', import.meta.url));
  const child = spawn(process.execPath, [file], {
    env: { ...process.env, KAFKA_BROKERS: kafka.brokers.join(), ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  after(() => child.kill('SIGKILL'));
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  return { child, lines, exit: once(child, 'exit') };
}

function storedIn(file: string): unknown[] {
  const db = new DatabaseSync(file);
  const rows = db.prepare('SELECT event_id FROM verdicts ORDER BY 1').all();
  db.close();
  return rows.map(({ event_id }) => event_id);
}

test('stores each effect once when the process is killed before and after the commit of the effects', async () => {
  const decisions = await kafka.createTopic('decisions');
  const deadLetters = await kafka.createTopic('dead-letters');
  const file = `${directory}/killed.db`;
  const write = (id: string) => kafka.write(decisions, [{ value: decisionOf(id) }]);
  const run = (dieAt: string) =>
    storing({
      // Uses a new group for each start, because the broker would wait for the session of the killed member.
      ...{ GROUP: uniqueName('once'), DATABASE: file, DIE_AT: dieAt },
      ...{ DECISIONS: decisions, DEAD_LETTERS: deadLetters },
    });
  await write('a');
  await write('b');
  assert.deepEqual((await run('before').exit)[1], 'SIGKILL');
  assert.deepEqual((await run('after').exit)[1], 'SIGKILL');
  await write('c');
  const { child, lines, exit } = run('never');
  await reached('an effect or a refusal', () => lines.some((line) => /to 3|refused/.test(line)));
  assert.doesNotMatch(lines.join('\n'), /refused/, 'the third start continues at its own position');
  child.kill('SIGTERM');
  assert.deepEqual(await exit, [0, null]);
  assert.deepEqual(storedIn(file), ['a', 'b', 'c']);
});

test('without a committed offset begins at the start of the log, and reports no lost records', async () => {
  const decisions = await kafka.createTopic('decisions');
  await kafka.write(
    decisions,
    [0, 1].map((id) => ({ value: decisionOf(`${id}`) })),
  );
  const admin = await kafka.admin();
  await admin.deleteTopicRecords({
    topic: decisions,
    partitions: [{ partition: 0, offset: '1' }],
  });
  const batches: ReceivedBatch[] = [];
  const logged: string[] = [];
  await start({
    decisions,
    process: (batch) => void batches.push(batch),
    log: (level, message) => logged.push(`${level} ${message}`),
  });
  await reached('a batch', () => batches.length > 0);
  assert.deepEqual([batches[0]?.from, batches[0]?.records.map(idOf)], [1, ['1']]);
  assert.deepEqual(
    logged.filter((line) => line.startsWith('error')),
    [],
  );
});
