import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterAdmin } from '../../../../src/core/ports/kafka.ts';
import { RefusedError } from '../../../../src/pipeline/context/errors.ts';
import { prepareTopics } from '../../../../src/pipeline/shard/prepare-topics.ts';
import { changed } from '../../../support/engine/changed.ts';
import { engineOptions, type OptionChanges } from '../../../support/engine/world.ts';
import { VirtualClock } from '../../../support/memory/clock.ts';
import { KafkaClient } from '../../../support/memory/kafka/client.ts';
import { MemoryKafka } from '../../../support/memory/kafka/kafka.ts';
import { RecordingLogger } from '../../../support/memory/telemetry/recording-telemetry.ts';

const GOOD: Readonly<Record<string, string>> = {
  'cleanup.policy': 'compact',
  'min.insync.replicas': '2',
  'delete.retention.ms': '86400000',
};

interface Setting {
  readonly brokers?: number;
  readonly sourcePartitions?: number;
  readonly topics?: readonly string[];
  /** Number of requests for which the broker does not know the new journal yet. */
  readonly unseen?: number;
}

function world(setting: Setting = {}) {
  const clock = new VirtualClock();
  const kafka = new MemoryKafka(clock, clock, {}, { brokers: setting.brokers ?? 3 });
  for (const topic of setting.topics ?? ['content', 'decisions', 'dead'])
    kafka.cluster.createTopic(topic, topic === 'content' ? (setting.sourcePartitions ?? 6) : 2);
  const asked = new KafkaClient(kafka, clock, 'a', {
    group: 'g',
    source: 'content',
    journal: 'journal',
  }).admin();
  let unseen = setting.unseen ?? 0;
  const admin = changed<ClusterAdmin>(asked, {
    describeTopic: async (topic) => {
      const found = await asked.describeTopic(topic);
      return topic === 'journal' && found !== undefined && unseen-- > 0 ? undefined : found;
    },
  });
  const logger = new RecordingLogger();
  const prepare = async (changes: OptionChanges = {}) => {
    let over = false;
    const work = prepareTopics(admin, engineOptions(changes), logger, clock).finally(() => {
      over = true;
    });
    work.catch(() => undefined);
    await clock.runUntil(() => over, 60_000);
    return work;
  };
  const journal = (settings: Record<string, string>, partitions = 6) =>
    kafka.cluster.createTopic('journal', partitions, {
      settings: Object.entries(settings),
      replicationFactor: 3,
    });
  return { kafka, logger, prepare, journal };
}

test('a missing journal is created: compacted, a shard per source partition, three replicas, two in sync', async () => {
  const { kafka, prepare, logger } = world();
  const facts = await prepare();
  const made = kafka.cluster.describe('journal');
  assert.deepEqual([made?.partitions, made?.replicationFactor], [6, 3]);
  assert.deepEqual(Object.fromEntries(made?.settings ?? []), {
    'cleanup.policy': 'compact',
    'segment.bytes': '16777216',
    'segment.ms': '600000',
    'min.cleanable.dirty.ratio': '0.1',
    'delete.retention.ms': '86400000',
    'min.insync.replicas': '2',
  });
  assert.deepEqual([facts.shards, facts.deleteRetentionMs], [6, 86_400_000]);
  assert.match(logger.text(), /created the journal topic .*"shards":6/);
});

test('a new journal is awaited until the broker knows it, but not indefinitely', async () => {
  const { prepare, kafka } = world({ unseen: 20 });
  assert.deepEqual(
    [(await prepare()).shards, kafka.cluster.describe('journal')?.partitions],
    [6, 6],
  );
  await assert.rejects(
    world({ unseen: Number.POSITIVE_INFINITY }).prepare(),
    /journal was created but is not visible after 30000 ms/,
  );
});

test('the journal has one replica on one broker, two on two, and three on more', async () => {
  for (const [brokers, replicas, insync] of [
    [1, 1, '1'],
    [2, 2, '2'],
    [5, 3, '2'],
  ] as const) {
    const { kafka, prepare } = world({ brokers });
    await prepare();
    const made = kafka.cluster.describe('journal');
    assert.deepEqual(
      [made?.replicationFactor, made?.settings.get('min.insync.replicas')],
      [replicas, insync],
    );
  }
});

test('a journal has at most 64 shards unless more are configured', async () => {
  const many = world({ sourcePartitions: 100 });
  assert.equal((await many.prepare()).shards, 64);
  const told = world({ sourcePartitions: 100 });
  assert.equal((await told.prepare({ journal: { partitions: 100 } })).shards, 100);
});

for (const [topic, role] of [
  ['content', 'source'],
  ['decisions', 'output'],
  ['dead', 'dead-letter'],
] as const) {
  test(`a missing ${role} topic is refused with its name, and no journal is created`, async () => {
    const { kafka, prepare } = world({
      topics: ['content', 'decisions', 'dead'].filter((one) => one !== topic),
    });
    await assert.rejects(
      prepare(),
      refused(
        new RegExp(
          `the ${role} topic "${topic}" does not exist: run "content-review-connector topics`,
        ),
      ),
    );
    assert.equal(kafka.cluster.describe('journal'), undefined);
  });
}

test('an existing journal with valid settings is used unchanged', async () => {
  const { prepare, journal, logger } = world();
  journal(GOOD, 4);
  assert.deepEqual(await prepare(), {
    shards: 4,
    deleteRetentionMs: 86_400_000,
    maxOutputBytes: Number.POSITIVE_INFINITY,
    maxDeadLetterBytes: 1_048_588,
  });
  assert.equal(logger.lines.length, 0);
  const hour = world();
  hour.journal({ ...GOOD, 'delete.retention.ms': '3600000' });
  assert.equal((await hour.prepare()).deleteRetentionMs, 3_600_000);
});

const WRONG: readonly [
  name: string,
  settings: Record<string, string>,
  changes: OptionChanges,
  says: RegExp,
][] = [
  [
    'that is deleted',
    { ...GOOD, 'cleanup.policy': 'delete' },
    {},
    /cleanup\.policy is "delete", must be exactly "compact"/,
  ],
  [
    'that is compacted and deleted',
    { ...GOOD, 'cleanup.policy': 'compact,delete' },
    {},
    /cleanup\.policy is "compact,delete"/,
  ],
  [
    'with one replica in sync',
    { ...GOOD, 'min.insync.replicas': '1' },
    {},
    /min\.insync\.replicas is 1, must be at least 2/,
  ],
  [
    'that drops tombstones too soon',
    { ...GOOD, 'delete.retention.ms': '3599999' },
    {},
    /delete\.retention\.ms is 3599999, must be at least 3600000/,
  ],
  [
    'with an unknown retention',
    { ...GOOD, 'delete.retention.ms': '' },
    {},
    /delete\.retention\.ms is /,
  ],
  [
    'with another number of shards',
    GOOD,
    { journal: { partitions: 5 } },
    /it has 6 partitions, but journal\.partitions is 5/,
  ],
];

for (const [name, settings, changes, says] of WRONG) {
  test(`a journal ${name} is refused with the remedy`, async () => {
    const { prepare, journal } = world();
    journal(settings);
    await assert.rejects(prepare(changes), (error) => {
      assert.ok(error instanceof RefusedError);
      assert.match(error.message, says);
      assert.match(
        error.message,
        /^the journal topic "journal" cannot be used: .*(Alter the topic with kafka-configs|Set journal\.partitions to 6 or auto; .* new journal and a new group \(docs\/faq\.md)/,
      );
      return true;
    });
  });
}

test('the message limits of the output and dead-letter topics limit the records for them', async () => {
  const { kafka, prepare } = world({ topics: ['content'] });
  kafka.cluster.createTopic('dead', 1, { settings: [['max.message.bytes', '10000000']] });
  kafka.cluster.createTopic('decisions', 1, { settings: [['max.message.bytes', '20000000']] });
  const { maxOutputBytes, maxDeadLetterBytes } = await prepare();
  assert.deepEqual([maxOutputBytes, maxDeadLetterBytes], [20_000_000, 10_000_000]);
});

const refused = (says: RegExp) => (error: unknown) =>
  error instanceof RefusedError && says.test(error.message);

for (const [role, topic] of [
  ['output', 'decisions'],
  ['dead-letter', 'dead'],
] as const) {
  test(`a compacted ${role} topic is refused, because it would drop records and reject records without a key`, async () => {
    const { kafka, prepare } = world({
      topics: ['content', topic === 'dead' ? 'decisions' : 'dead'],
    });
    kafka.cluster.createTopic(topic, 2, {
      settings: [['cleanup.policy', 'compact,delete']],
      replicationFactor: 3,
    });
    await assert.rejects(
      prepare(),
      (error) =>
        error instanceof RefusedError &&
        error.message.includes(topic) &&
        /must be "delete"/.test(error.message),
    );
  });
}
