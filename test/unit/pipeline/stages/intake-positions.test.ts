/** Position of intake if fetched batches contradict it. Tested with the whole engine in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SourceRecord } from '../../../../src/core/record.ts';
import { fetchedThrough } from '../../../support/engine/changed.ts';
import { World, type WrapPorts } from '../../../support/engine/world.ts';
import { recordsOf, withRecords } from '../../../support/memory/kafka/pieces.ts';

const MINUTE = 60_000;

/** Returns a wrapper that rewrites each source batch. */
const rewriting = (fetched: Parameters<typeof fetchedThrough>[0]): WrapPorts =>
  fetchedThrough((batch, give, ports) =>
    batch.stream === 'source' ? fetched(batch, give, ports) : give(batch),
  );

test('a fetched batch for another position is dropped, and no record is skipped or read twice', async () => {
  let forged = 0;
  const world = new World({
    partitions: 1,
    hooks: { batchRecords: () => 4 },
    wrap: rewriting((batch, tell) => {
      const ahead = recordsOf(batch).slice(1);
      if (ahead[0] !== undefined && forged++ < 20)
        tell(withRecords({ ...batch, fetchOffset: ahead[0].offset }, ahead));
      tell(batch);
    }),
  });
  world.start();
  world.produce(40);
  await world.untilSettled(MINUTE);
  world.assertExactlyOnce();
  assert.ok(forged >= 10);
});

test('records of a batch before the position are ignored, not read twice', async () => {
  let before: readonly SourceRecord[] = [];
  const world = new World({
    partitions: 1,
    hooks: { batchRecords: () => 4 },
    wrap: rewriting((batch, tell) => {
      tell(withRecords(batch, [...before, ...recordsOf(batch)]));
      before = recordsOf(batch);
    }),
  });
  const instance = world.start();
  world.produce(40);
  await world.untilSettled(MINUTE);
  world.assertExactlyOnce();
  assert.equal(instance.metrics.counter('events_consumed_total'), 40);
});

test('a position that the client has moved by itself is set back, and reading continues from it', async () => {
  let moved = 0;
  const world = new World({
    partitions: 1,
    hooks: { batchRecords: () => 4 },
    wrap: rewriting((batch, tell, { group }) => {
      tell(batch);
      if (moved++ === 3) group.seek('source', 0, batch.nextOffset + 10);
    }),
  });
  world.start();
  world.produce(80);
  await world.untilSettled(MINUTE);
  world.assertExactlyOnce();
  assert.equal(world.service.submissions(0, 79), 1);
});

test('a source topic that is recreated at runtime is refused as soon as the position is beyond its end', async () => {
  const world = new World({ partitions: 1 });
  const instance = world.start();
  world.produce(20);
  await world.untilSettled(MINUTE);
  world.kafka.cluster.deleteTopic('content');
  world.kafka.cluster.createTopic('content', 1);
  world.event(0);
  await world.clock.advance(10_000);
  assert.match(
    instance.refused?.message ?? '',
    /offset 20 in partition 0 of source topic content .* created again/,
  );
});

for (const value of ['not json', undefined])
  test(`records before the one that reveals a recreated topic get terminal records: ${value ?? 'valid records'}`, async () => {
    let isAnew = false;
    const anew = (record: SourceRecord): SourceRecord => ({
      ...record,
      timestampMs: record.timestampMs + 1,
      value: record.offset === 0 && value !== undefined ? Buffer.from(value) : record.value,
    });
    const world = new World({
      partitions: 1,
      options: { batch: { maxRows: 5, maxAgeMs: 600_000 } },
      hooks: { batchRecords: () => 10 },
      wrap: rewriting((batch, tell) =>
        tell(isAnew ? withRecords(batch, recordsOf(batch).map(anew)) : batch),
      ),
    });
    world.event(0, 'b');
    for (let n = 0; n < 5; n++) world.event(0, 'a');
    const first = world.start();
    await world.clock.advance(20_000);
    await world.through(first.stop());
    isAnew = true;
    const second = world.start();
    await world.clock.advance(20_000);
    assert.match(second.refused?.message ?? '', /created again/);
    assert.equal(second.metrics.counter('events_consumed_total'), 1);
    assert.equal(second.gauge('balance_items'), 0);
  });

test('a source topic that is recreated during a disconnect and is longer than the read position is refused', async () => {
  const world = new World({ partitions: 2 });
  const instance = world.start();
  world.produce(20);
  await world.untilSettled(MINUTE);
  instance.group.crash('the topic is gone');
  world.kafka.cluster.deleteTopic('content');
  world.kafka.cluster.createTopic('content', 2);
  for (let n = 0; n < 50; n++) world.event(n % 2);
  await world.clock.advance(10_000);
  assert.match(
    instance.refused?.message ?? '',
    /offset 9 in partition \d of source topic content is not the one that this pipeline has read/,
  );
});

test('retention that removes fetched but unprocessed records does not lose them', async () => {
  const commit = Promise.withResolvers<void>();
  const world = new World({
    partitions: 1,
    hooks: {
      batchRecords: () => 4,
      // The dead letter of the first record commits slowly, so records that are fetched in that time wait.
      beforeCommit: ({ transaction: { outputs } }) =>
        outputs === undefined ? undefined : commit.promise,
    },
  });
  const instance = world.start();
  world.put(0, 'not json');
  for (let n = 1; n < 20; n++) world.event(0);
  await world.clock.advance(10_000);
  world.kafka.cluster.log('content', 0).deleteBefore(40);
  world.event(0);
  await world.clock.advance(10_000);
  for (let n = 0; n < 30; n++) world.event(0);
  world.kafka.cluster.log('content', 0).deleteBefore(40);
  await world.clock.advance(10_000);
  commit.resolve();
  await world.clock.advance(MINUTE);
  assert.equal(
    instance.metrics.counter('unread_records_lost_total') +
      world.decisions().length +
      world.published('dead').length,
    51,
  );
  assert.ok(world.decisions().length >= 30, `${world.decisions().length}`);
});
