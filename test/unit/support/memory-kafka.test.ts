import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EncodedRecords } from '../../../src/core/bytes/encoded-records.ts';
import { type Transaction, TransactionError } from '../../../src/core/ports/kafka.ts';
import { VirtualClock } from '../../support/memory/clock.ts';
import { KafkaClient } from '../../support/memory/kafka/client.ts';
import { type CommitFate, type KafkaHooks, MemoryKafka } from '../../support/memory/kafka/kafka.ts';
import { VirtualProcess } from '../../support/memory/process.ts';

const TOPICS = { group: 'g', source: 'in', journal: 'journal' };

function world(hooks: KafkaHooks = {}) {
  const clock = new VirtualClock();
  const kafka = new MemoryKafka(clock, clock, hooks);
  kafka.cluster.createTopic('in', 2);
  kafka.cluster.createTopic('out', 3);
  kafka.cluster.createTopic('journal', 2, { settings: [['cleanup.policy', 'compact']] });
  const instance = (name: string) => {
    const process = new VirtualProcess(name, clock);
    return { process, client: new KafkaClient(kafka, process, name, TOPICS) };
  };
  /** Lets the world run until `work` is settled; gives its outcome. */
  const outcome = async <T>(work: Promise<T>): Promise<T> => {
    let settled = false;
    const watched = work.finally(() => {
      settled = true;
    });
    watched.catch(() => {});
    await clock.runUntil(() => settled, 600_000);
    return watched;
  };
  const failure = async (work: Promise<unknown>): Promise<string> => {
    try {
      await outcome(work);
      return 'committed';
    } catch (error) {
      assert.ok(error instanceof TransactionError, String(error));
      return error.failure;
    }
  };
  const journal = () => kafka.cluster.committedRecords('journal').map(({ value }) => String(value));
  return { clock, kafka, instance, outcome, failure, journal };
}

function write(value: string, offset?: number): Transaction {
  return {
    journal: [{ key: value, value }],
    outputs: [{ topic: 'out', records: EncodedRecords.of([{ key: value, value }]) }],
    ...(offset === undefined
      ? {}
      : { offsets: [{ partition: 0, offset, metadata: `v1:${offset}` }] }),
  };
}

test('commits that overlap are refused, without harm to the one that runs', async () => {
  const { instance, outcome, failure, journal } = world();
  const a = instance('a').client.producers().open(0);
  const first = a.commit(write('one'));
  assert.equal(await failure(a.commit(write('two'))), 'aborted');
  await outcome(first);
  await outcome(a.commit(write('three')));
  assert.deepEqual(journal(), ['one', 'three']);
});

const fateCases: { fate: CommitFate; told: string; visible: number }[] = [
  { fate: 'reply-lost', told: 'unknown', visible: 1 },
  { fate: 'committed-fenced', told: 'fenced', visible: 1 },
  { fate: 'lost', told: 'unknown', visible: 0 },
  { fate: 'fenced', told: 'fenced', visible: 0 },
  { fate: 'aborted', told: 'aborted', visible: 0 },
  { fate: 'unsent', told: 'aborted', visible: 0 },
  { fate: 'rejected', told: 'rejected', visible: 0 },
  { fate: { fate: 'late', lateMs: 5_000 }, told: 'unknown', visible: 1 },
];
for (const { fate, told, visible } of fateCases) {
  test(`a commit scripted as ${JSON.stringify(fate)} says ${told}, and ${visible === 1 ? 'is' : 'is not'} visible`, async () => {
    const { clock, instance, failure, journal } = world({ commitFate: () => fate });
    assert.equal(
      await failure(instance('a').client.producers().open(0).commit(write('one'))),
      told,
    );
    await clock.advance(10_000);
    assert.equal(journal().length, visible);
  });
}

test('a late commit that finds its sender fenced is refused', async () => {
  const fates: CommitFate[] = [{ fate: 'late', lateMs: 5_000 }];
  const { clock, instance, outcome, failure, journal } = world({
    commitFate: () => fates.shift() ?? 'commit',
  });
  assert.equal(
    await failure(instance('a').client.producers().open(0).commit(write('one'))),
    'unknown',
  );
  await outcome(instance('b').client.producers().open(0).commit(write('two')));
  await clock.advance(10_000);
  assert.deepEqual(journal(), ['two']);
});

test('the commit of a sender that died in the middle is applied when it was sent, and aborted by the timeout when not', async () => {
  const { clock, kafka, instance, journal } = world();
  const a = instance('a');
  void a.client.producers().open(0).commit(write('one'));
  await clock.runUntil(() => kafka.cluster.log('journal', 0).end === 1, 0);
  a.process.kill();
  await clock.advance(59_000);
  assert.deepEqual(kafka.transactions.openTransactions(), ['journal-0']);
  await clock.advance(1_000);
  assert.deepEqual([kafka.transactions.openTransactions(), journal()], [[], []]);
});

test('records and offset metadata that are too large are rejected', async () => {
  const { kafka, instance, failure } = world();
  kafka.cluster.produce('in', 0, [{ key: null, value: 'x' }]);
  const large = { journal: [{ key: 'k', value: 'x'.repeat(1_048_588) }] } as const;
  assert.equal(await failure(instance('a').client.producers().open(0).commit(large)), 'too_large');
  const metadata = 'm'.repeat(4_097);
  const wordy = {
    journal: [{ key: 'k', value: 'v' }],
    offsets: [{ partition: 0, offset: 1, metadata }],
  } as const;
  assert.equal(await failure(instance('b').client.producers().open(0).commit(wordy)), 'rejected');
});

test('admin tells ranges, topics and committed offsets; a stale read is one commit old', async () => {
  let stale = false;
  const { kafka, instance, outcome } = world({ staleCommitted: () => stale });
  const { client } = instance('a');
  const admin = client.admin();
  kafka.cluster.produce('in', 0, [
    { key: null, value: 'x' },
    { key: null, value: 'y' },
    { key: null, value: 'z' },
  ]);
  kafka.cluster.log('in', 0).deleteBefore(1);
  assert.deepEqual(
    await outcome(admin.ranges('in', [0, 1])),
    new Map([
      [0, { start: 1, end: 3 }],
      [1, { start: 0, end: 0 }],
    ]),
  );
  await assert.rejects(outcome(admin.ranges('nowhere', [0])), /nowhere/);
  const producer = client.producers().open(0);
  await outcome(producer.commit(write('one', 1)));
  await outcome(producer.commit(write('two', 2)));
  const committed = async () => (await outcome(admin.committed('g', 'in', [0]))).get(0);
  assert.deepEqual(await committed(), { offset: 2, metadata: 'v1:2' });
  stale = true;
  assert.deepEqual(await committed(), { offset: 1, metadata: 'v1:1' });
  stale = false;
  kafka.cluster.commitOffset('g', 'in', 0, 0);
  assert.deepEqual(await committed(), { offset: 0, metadata: '' });
  kafka.cluster.deleteTopic('in');
  kafka.cluster.createTopic('in', 1);
  assert.deepEqual(await committed(), { offset: null, metadata: '' });
  const spec = {
    partitions: 4,
    replicationFactor: 3,
    settings: new Map([['cleanup.policy', 'compact']]),
  };
  await outcome(admin.createTopic('new', spec));
  await outcome(admin.createTopic('new', { ...spec, partitions: 9 }));
  assert.deepEqual(await outcome(admin.describeTopic('new')), spec);
  assert.equal(await outcome(admin.describeTopic('nowhere')), undefined);
});
