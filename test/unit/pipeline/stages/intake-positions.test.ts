/** Intake: contradictions of fetched batches about positions, and how intake keeps its place. Over the whole engine in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SourceRecord } from '../../../../src/core/record.ts';
import { fetchedThrough } from '../../../support/engine/changed.ts';
import { World, type WrapPorts } from '../../../support/engine/world.ts';
import { recordsOf, withRecords } from '../../../support/memory/kafka/pieces.ts';

const MINUTE = 60_000;

/** Wrapper that rewrites each source batch. */
const rewriting = (fetched: Parameters<typeof fetchedThrough>[0]): WrapPorts =>
  fetchedThrough((batch, give, ports) =>
    batch.stream === 'source' ? fetched(batch, give, ports) : give(batch),
  );

test('a source topic that is made anew under a running owner is refused as soon as its position lies beyond the end', async () => {
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
  test(`records in front of one that shows a topic created again are accounted for: ${value ?? 'good ones'}`, async () => {
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

test('a source topic that is created again while the client is away, and is longer than what was read, is refused: its first records are not passed over', async () => {
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
    /offset 9 in partition \d of source topic content is not what this pipeline has read/,
  );
});
