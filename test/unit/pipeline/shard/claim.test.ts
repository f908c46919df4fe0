/** Claim and loss of ownership, tested with the whole engine in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { writeMeta } from '../../../../src/core/journal/journal-records.ts';
import { RefusedError } from '../../../../src/pipeline/context/errors.ts';
import { changed } from '../../../support/engine/changed.ts';
import { TOPICS, World, type WorldSettings } from '../../../support/engine/world.ts';

const MINUTE = 60_000;

/** Returns a world whose journal exists before the engine starts. */
function withJournal(
  settings: WorldSettings,
  journal: { partitions?: number; deleteRetentionMs?: number } = {},
): World {
  const world = new World(settings);
  world.kafka.cluster.createTopic(TOPICS.journal, journal.partitions ?? 1, {
    settings: [
      ['cleanup.policy', 'compact'],
      ['delete.retention.ms', String(journal.deleteRetentionMs ?? 86_400_000)],
    ],
  });
  return world;
}

const journalKeys = (world: World, shard = 0) =>
  world.kafka.cluster
    .log(TOPICS.journal, shard)
    .committed()
    .map(({ key }) => String(key));

test('the first claim writes the owner, then meta and the start position in one transaction', async () => {
  const transactions: [string[], string][] = [];
  const world = new World({
    partitions: 1,
    hooks: {
      commitFate: ({ transaction: { journal, offsets } }) => {
        transactions.push([
          journal.map(({ key }) => key),
          (offsets ?? []).map(({ offset, metadata }) => `${offset} ${metadata}`).join(),
        ]);
        return 'commit';
      },
    },
  });
  world.start();
  await world.clock.advance(1_000);
  assert.deepEqual(transactions, [
    [['owner'], ''],
    [['meta', 'progress/0'], '0 v1:1'],
  ]);
});

test('a new pipeline starts at the earliest record, at the end of the log if configured, or at a manually set offset', async () => {
  const starts: (number | null)[] = [];
  for (const [startFrom, committed, metadata] of [
    ['earliest', undefined, ''],
    ['latest', undefined, ''],
    ['latest', 4, ''],
    ['earliest', 99, ''],
  ] as const) {
    const world = new World({ partitions: 1, options: { source: { startFrom } } });
    for (let n = 0; n < 10; n++) world.event(0);
    if (committed !== undefined)
      world.kafka.cluster.commitOffset(TOPICS.group, TOPICS.source, 0, committed, metadata);
    world.start();
    await world.clock.runUntil(() => world.committed(0).metadata === 'v1:1', 10_000);
    starts.push(world.committed(0).offset);
  }
  assert.deepEqual(starts, [0, 10, 4, 10]);
});

test('source partitions added at runtime are read from their beginning, even with startFrom latest', async () => {
  const world = new World({ partitions: 2, options: { source: { startFrom: 'latest' } } });
  world.start();
  await world.clock.advance(2_000);
  world.produce(10);
  await world.untilSettled(MINUTE);
  world.kafka.cluster.addPartitions(TOPICS.source, 3);
  for (let n = 0; n < 7; n++) world.event(2);
  await world.untilSettled(2 * MINUTE);
  world.assertExactlyOnce();
  assert.equal(world.decisions().filter(({ partition }) => partition === 2).length, 7);
});

test('a journal of another pipeline is refused with the remedy, before its owner is fenced', async () => {
  const meta = { group: TOPICS.group, source: TOPICS.source, shards: 1, kind: 'scripted' };
  for (const wrong of [
    { group: 'theirs' },
    { source: 'theirs' },
    { shards: 7 },
    { kind: 'imports' },
  ]) {
    const world = withJournal({ partitions: 1 });
    world.kafka.cluster.produce(TOPICS.journal, 0, [writeMeta({ ...meta, ...wrong })]);
    const instance = world.start();
    await world.clock.advance(10_000);
    const [field] = Object.keys(wrong);
    assert.ok(instance.refused instanceof RefusedError);
    assert.match(
      instance.refused.message,
      new RegExp(`belongs to ${field} .*give this pipeline a journal topic and a group of its own`),
    );
    assert.deepEqual(journalKeys(world), ['meta']);
  }
});

/** Returns a pipeline that has settled its records and stopped. */
async function stoppedPipeline(): Promise<World> {
  const world = new World({ partitions: 2 });
  const instance = world.start();
  for (const partition of [0, 0, 1, 1]) world.event(partition);
  await world.untilSettled(MINUTE);
  await world.through(instance.stop());
  return world;
}

async function refusalOf(world: World): Promise<string> {
  const instance = world.start();
  await world.clock.advance(10_000);
  const refusal = instance.refused ?? instance.startFailure;
  assert.ok(refusal instanceof RefusedError, 'the start must be refused');
  return refusal.message;
}

test('a missing journal is refused and not created if the group has committed offsets', async () => {
  const world = await stoppedPipeline();
  world.kafka.cluster.deleteTopic(TOPICS.journal);
  const message = await refusalOf(world);
  assert.match(
    message,
    /committed offsets of partition 0, 1 of source topic .* does not exist\. .*docs\/faq\.md, "Can I change the number/,
  );
  assert.equal(world.kafka.cluster.describe(TOPICS.journal), undefined);
});

for (const shards of [1, 2, 3]) {
  test(`an empty journal of ${shards} partitions is refused and stays empty if the group has committed offsets`, async () => {
    const world = await stoppedPipeline();
    world.kafka.cluster.deleteTopic(TOPICS.journal);
    world.kafka.cluster.createTopic(TOPICS.journal, shards, {
      settings: [
        ['cleanup.policy', 'compact'],
        ['delete.retention.ms', '86400000'],
      ],
    });
    assert.match(await refusalOf(world), /but the journal topic .* is empty/);
    for (let shard = 0; shard < shards; shard++) assert.deepEqual(journalKeys(world, shard), []);
  });
}

test('a journal that lost the records of one partition is refused, with that partition and its source partitions', async () => {
  const world = await stoppedPipeline();
  const kept = world.kafka.cluster.log(TOPICS.journal, 0).committed();
  world.kafka.cluster.deleteTopic(TOPICS.journal);
  world.kafka.cluster.createTopic(TOPICS.journal, 2, {
    settings: [
      ['cleanup.policy', 'compact'],
      ['delete.retention.ms', '86400000'],
    ],
  });
  world.kafka.cluster.produce(
    TOPICS.journal,
    0,
    kept.map(({ key, value }) => ({ key, value })),
  );
  assert.match(
    await refusalOf(world),
    /offsets of partition 1 of source topic .* is empty in partition 1\./,
  );
});

test('a journal partition whose beginning was removed is refused by the claim of its shard', async () => {
  const world = await stoppedPipeline();
  const log = world.kafka.cluster.log(TOPICS.journal, 1);
  log.deleteBefore(log.end);
  assert.match(
    await refusalOf(world),
    /shard 1: .*offsets of partition 1 of source topic .* has lost their records in partition 1\./,
  );
});

test('a new journal is accepted if the offsets of the group were set manually, until the next commit', async () => {
  const world = await stoppedPipeline();
  world.kafka.cluster.deleteTopic(TOPICS.journal);
  for (const partition of [0, 1])
    world.kafka.cluster.commitOffset(TOPICS.group, TOPICS.source, partition, 2);
  const instance = world.start();
  world.event(0);
  await world.untilSettled(MINUTE);
  assert.equal(instance.refused, undefined);
  world.assertExactlyOnce();
  await world.through(instance.stop());
  world.kafka.cluster.deleteTopic(TOPICS.journal);
  assert.match(await refusalOf(world), /does not exist/);
});

test('a recovery that took longer than half of delete.retention is discarded and repeated', async () => {
  let slow = true;
  const world = withJournal(
    {
      partitions: 1,
      wrap: (ports, { clock }) => ({
        ...ports,
        admin: changed(ports.admin, {
          ranges: async (topic, partitions) => {
            if (slow && topic === TOPICS.journal) await clock.sleep(30 * MINUTE + 1);
            slow = false;
            return ports.admin.ranges(topic, partitions);
          },
        }),
      }),
    },
    { deleteRetentionMs: 60 * MINUTE },
  );
  const instance = world.start();
  world.event(0);
  await world.clock.advance(30 * MINUTE + 1_000);
  await world.untilSettled(MINUTE);
  assert.deepEqual(
    [
      instance.metrics.counter('claims_total', { outcome: 'failed' }),
      instance.metrics.counter('claims_total', { outcome: 'owned' }),
    ],
    [1, 1],
  );
  assert.match(
    instance.logger.text(),
    /the recovery took so long that the journal may have dropped tombstones/,
  );
});

test('a fenced owner confirms its membership before it claims again, so that two owners do not alternate', async () => {
  const world = new World({ partitions: 1 });
  const instance = world.start();
  world.produce(10);
  await world.untilSettled(MINUTE);
  const claims = () => instance.metrics.counter('claims_total', { outcome: 'owned' });
  instance.group.isolate();
  world.kafka.transactions.initialise(`${TOPICS.journal}-0`);
  // The idle shard's probe detects the fence.
  await world.clock.advance(90_000);
  assert.equal(instance.metrics.counter('transactions_total', { outcome: 'fenced' }), 1);
  assert.deepEqual([claims(), instance.gauge('shards_owned')], [1, 0]);
  assert.match(instance.health.conditions.get('reviews/kafka') ?? '', /claiming shard\(s\) 0/);
  world.event(0);
  instance.group.heal();
  await world.untilSettled(MINUTE);
  assert.equal(claims(), 2);
  world.assertExactlyOnce();
});

test('the owner of a kept shard proves its ownership at each join, and of an idle shard every minute', async () => {
  const world = new World({ partitions: 2 });
  const first = world.start();
  await world.clock.advance(5_000);
  const owners = (shard: number) =>
    journalKeys(world, shard).filter((key) => key === 'owner').length;
  assert.deepEqual([owners(0), owners(1)], [1, 1]);
  world.start();
  await world.clock.advance(10_000);
  assert.deepEqual(
    [owners(0), owners(1)].sort(),
    [2, 2],
    'one from the probe, one from the claim of the new owner',
  );
  assert.equal(first.metrics.counter('claims_total'), 2, 'the kept shard was not claimed again');
  assert.equal(
    first.gauge('shards_owned'),
    1,
    'the other shard was given up at the join, not because of a fence',
  );
  await world.clock.advance(65_000);
  assert.deepEqual([owners(0), owners(1)], [3, 3]);
});

test('a recreated source topic is refused although its offsets would fit', async () => {
  const world = new World({ partitions: 1 });
  for (let n = 0; n < 10; n++) world.event(0);
  const first = world.start();
  await world.untilSettled(MINUTE);
  await world.through(first.stop());
  world.kafka.cluster.deleteTopic(TOPICS.source);
  world.kafka.cluster.createTopic(TOPICS.source, 1);
  await world.clock.advance(10_000);
  for (let n = 0; n < 30; n++) world.event(0);
  const second = world.start();
  await world.clock.advance(10_000);
  assert.match(
    second.refused?.message ?? '',
    /offset 9 in partition 0 of source topic content .* was deleted and created again/,
  );
  assert.equal(world.decisions().length, 10);
});

test('a journal that is created again under its owner is refused, although the owner has written to it', async () => {
  const world = new World({ partitions: 1, service: { review: () => ({ afterMs: 'never' }) } });
  for (let n = 0; n < 3; n++) world.event(0);
  const instance = world.start();
  await world.clock.advance(MINUTE);
  assert.equal(instance.gauge('items_in_flight'), 3);
  const { cluster } = world.kafka;
  const settings = cluster.describe(TOPICS.journal)?.settings ?? [];
  cluster.deleteTopic(TOPICS.journal);
  cluster.createTopic(TOPICS.journal, 1, { settings });
  for (let n = 0; n < 3; n++) world.event(0);
  await world.clock.advance(2 * MINUTE);
  assert.match(instance.logger.text(), /the journal has lost records after offset 0/);
  assert.match(instance.refused?.message ?? '', /the journal topic .* has lost their records/);
  instance.process.kill();
  const next = world.start();
  await world.clock.advance(MINUTE);
  assert.match(
    String(next.refused?.message ?? next.startFailure),
    /the journal topic .* has lost their records/,
  );
});

test('records that retention removed while no replica ran count as lost, except for records in jobs', async () => {
  const world = new World({
    partitions: 1,
    options: { batch: { maxRows: 2, maxAgeMs: 600_000 } },
    service: { review: () => ({ afterMs: 'never' }) },
  });
  const first = world.start();
  for (const type of ['a', 'b', 'b', 'c', 'd', 'd']) world.event(0, type);
  await world.clock.advance(5_000);
  await world.through(first.stop());
  world.kafka.cluster.log(TOPICS.source, 0).deleteBefore(5);
  const second = world.start();
  await world.clock.advance(5_000);
  assert.equal(
    second.metrics.counter('unread_records_lost_total'),
    2,
    'offsets 0 and 3, because the others are in jobs',
  );
  await world.clock.advance(11_000);
  assert.equal(world.committed(0).offset, 6);
});

test('replicas refuse partitions that were added to the journal at runtime, before any record changes its shard', async () => {
  const world = new World({ partitions: 4, options: { journal: { partitions: 2 } } });
  const [first, second] = [world.start('first'), world.start('second')];
  world.produce(20);
  await world.untilSettled(MINUTE);
  world.kafka.cluster.addPartitions(TOPICS.journal, 3);
  first.group.crash('the client was rebuilt');
  await world.clock.advance(MINUTE);
  for (const { refused } of [first, second]) {
    assert.ok(refused instanceof RefusedError);
    assert.match(
      refused.message,
      /pipeline reviews, journal journal: it had 2 partitions when this process started and has 3 now/,
    );
  }
  assert.deepEqual(journalKeys(world, 2), [], 'the new shard was not claimed');
});
