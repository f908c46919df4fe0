import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { EncodedRecords } from '../../../src/core/bytes/encoded-records.ts';
import { type ShardProducer, TransactionError } from '../../../src/core/ports/kafka.ts';
import { SeededRandom, VirtualClock } from '../../support/memory/clock.ts';
import { KafkaClient } from '../../support/memory/kafka/client.ts';
import { type CommitFate, MemoryKafka } from '../../support/memory/kafka/kafka.ts';
import { VirtualProcess } from '../../support/memory/process.ts';

const TOPICS = { group: 'g', source: 'in', journal: 'journal' };
/** Every fate that comes back, and whether its transaction is to be seen. */
const FATES = {
  commit: true,
  'reply-lost': true,
  'committed-fenced': true,
  lost: false,
  fenced: false,
  aborted: false,
  unsent: false,
  rejected: false,
} as const;
type Plain = keyof typeof FATES;

test('one transaction after another: seen is exactly what was committed, in journal, output and offsets alike', async () => {
  const fate = fc.oneof(
    { weight: 3, arbitrary: fc.constant<Plain>('commit') },
    { weight: 2, arbitrary: fc.constantFrom(...(Object.keys(FATES) as Plain[])) },
  );
  const steps = fc.array(fc.record({ fate, takeOver: fc.boolean() }), { maxLength: 15 });
  await fc.assert(
    fc.asyncProperty(steps, fc.nat(), async (history, seed) => {
      const random = new SeededRandom(seed);
      const clock = new VirtualClock({
        choose: (channels) => random.below(channels.length),
        latencyMs: () => random.below(5),
      });
      let next: CommitFate = 'commit';
      const kafka = new MemoryKafka(clock, clock, { commitFate: () => next });
      kafka.cluster.createTopic('in', 1);
      kafka.cluster.createTopic('out', 2);
      kafka.cluster.createTopic('journal', 1);
      const client = new KafkaClient(kafka, new VirtualProcess('a', clock), 'a', TOPICS);
      let producer: ShardProducer | undefined;
      const expected: string[] = [];
      for (const [number, step] of history.entries()) {
        if (step.takeOver || producer === undefined) producer = client.producers().open(0);
        next = step.fate;
        const value = String(number);
        const commit = producer.commit({
          journal: [{ key: value, value }],
          outputs: [
            {
              topic: 'out',
              records: EncodedRecords.of([
                { key: value, value },
                { key: `${value}b`, value },
              ]),
            },
          ],
          offsets: [{ partition: 0, offset: number + 1, metadata: value }],
        });
        let outcome: string | undefined;
        commit.then(
          () => {
            outcome = 'commit';
          },
          (error) => {
            outcome = error instanceof TransactionError ? error.failure : String(error);
          },
        );
        await clock.runUntil(() => outcome !== undefined, 10_000);
        assert.equal(
          outcome === 'commit',
          step.fate === 'commit',
          `${step.fate} came back as ${outcome}`,
        );
        if (FATES[step.fate]) expected.push(value);
        if (outcome !== 'commit') producer = undefined;
      }
      // What was left open ends by the broker's timeout, at the latest.
      await clock.advance(60_000);
      assert.deepEqual(kafka.transactions.openTransactions(), []);
      const seen = (topic: string) =>
        kafka.cluster.committedRecords(topic).map(({ value }) => String(value));
      assert.deepEqual(seen('journal'), expected);
      assert.deepEqual(
        seen('out').toSorted(),
        expected.flatMap((value) => [value, value]).toSorted(),
      );
      const committed = kafka.cluster.committedOffset('g', 'in', 0);
      assert.equal(committed.metadata, expected.at(-1) ?? '');
      assert.equal(kafka.cluster.log('journal', 0).stableEnd, kafka.cluster.log('journal', 0).end);
    }),
    { numRuns: 60 },
  );
});

test('two owners that fight for a shard: nobody loses what it was told is committed, and nothing half is seen', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(), async (seed) => {
      const random = new SeededRandom(seed);
      const clock = new VirtualClock({
        choose: (channels) => random.below(channels.length),
        latencyMs: () => random.below(40),
      });
      const kafka = new MemoryKafka(clock, clock, {
        commitFate: () =>
          random.next() < 0.3 ? { fate: 'late', lateMs: random.below(300) } : 'commit',
      });
      kafka.cluster.createTopic('in', 1);
      kafka.cluster.createTopic('out', 3);
      kafka.cluster.createTopic('journal', 1);
      const told = new Set<string>();
      const refused = new Set<string>();
      const fight = async (name: string) => {
        const client = new KafkaClient(kafka, new VirtualProcess(name, clock), name, TOPICS);
        let producer = client.producers().open(0);
        for (let n = 0; n < 10; n++) {
          const value = `${name}${n}`;
          const records = EncodedRecords.of([0, 1, 2, 3].map((i) => ({ key: `${i}`, value })));
          try {
            await producer.commit({
              journal: [{ key: value, value }],
              outputs: [{ topic: 'out', records }],
            });
            told.add(value);
          } catch (error) {
            if (!(error instanceof TransactionError)) throw error;
            if (error.failure !== 'unknown') refused.add(value);
            producer = client.producers().open(0);
            await clock.sleep(random.below(200));
          }
        }
      };
      let over = false;
      const fights = Promise.all(['a', 'b'].map(fight)).finally(() => {
        over = true;
      });
      await clock.runUntil(() => over, 600_000);
      await fights;
      await clock.advance(60_000);
      const journal = kafka.cluster.committedRecords('journal').map(({ value }) => String(value));
      const output = kafka.cluster.committedRecords('out').map(({ value }) => String(value));
      assert.equal(new Set(journal).size, journal.length);
      for (const value of told) assert.ok(journal.includes(value), `${value} was committed`);
      for (const value of refused) assert.ok(!journal.includes(value), `${value} was refused`);
      assert.deepEqual(
        output.toSorted(),
        journal.flatMap((value) => [value, value, value, value]).toSorted(),
      );
    }),
    { numRuns: 60 },
  );
});
