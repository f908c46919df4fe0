/** Search for source records, tested with the whole engine in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { namedRecord, type SearchRequest, search } from '../../../../src/tools/inspect/explain.ts';
import { explain, inspectionOf } from '../../../support/engine/inspection.ts';
import { TOPICS, World } from '../../../support/engine/world.ts';

const searchIn = (world: World, request: Partial<SearchRequest> = {}) =>
  world.through(search(inspectionOf(world), { key: 'mine', sinceMs: 0, limit: 10, ...request }));

const keyed = (world: World, key: string, timestampMs = world.clock.now()) =>
  world.put(0, JSON.stringify({ type: 'a', content: 'event of a' }), { key, timestampMs });

test('the newest matches are shown, and all are counted', async () => {
  const world = new World({ partitions: 1 });
  world.start();
  const first = world.clock.now();
  for (let n = 0; n < 12; n++) keyed(world, 'mine', first + ((n * 7) % 12) * 1_000);
  await world.untilSettled(60_000);
  const { records, matching } = await searchIn(world, { limit: 4 });
  const seconds = records.map(({ timestampMs }) => ((timestampMs ?? 0) - first) / 1_000);
  assert.deepEqual([matching, seconds], [12, [11, 10, 9, 8]]);
});

test('a search reads only records in its time range', async () => {
  const world = new World({ partitions: 1 });
  world.start();
  const first = world.clock.now();
  for (const seconds of [0, 10, 20, 30]) keyed(world, 'mine', first + seconds * 1_000);
  await world.untilSettled(60_000);
  const report = await searchIn(world, { sinceMs: first + 10_000 });
  assert.deepEqual([report.records.map(({ offset }) => offset), report.searched], [[3, 2, 1], 3]);
});

test('the explanation of a record in flight mentions that no replica is running', async () => {
  const world = new World({ partitions: 1 });
  world.kafka.cluster.createTopic(TOPICS.journal, 1);
  world.produce(1);
  const inspection = inspectionOf(world);
  inspection.scan.members = async () => 0;
  const { state, summary, notes } = await explain(world, inspection, { partition: 0, offset: 0 });
  assert.deepEqual(
    [state, summary],
    ['waiting', 'Not in a batch yet: no replica has ever claimed its shard.'],
  );
  assert.match(notes.join(), /^no replica is running/);
});

test('the explanation of a record shows its batch during review, and its decision even after retention', async () => {
  const world = new World({
    partitions: 1,
    service: {
      review: ({ rows }) => (rows?.some(({ offset }) => offset === 1) ? { afterMs: 'never' } : {}),
    },
    options: { batch: { maxRows: 1 } },
  });
  world.start();
  for (let n = 0; n < 3; n++) world.event(0);
  await world.clock.advance(20_000);
  const inspection = inspectionOf(world);
  const live = await explain(world, inspection, { partition: 0, offset: 1 });
  assert.equal(live.summary, `In review: batch ${live.job?.remoteId}, attempt 1.`);
  assert.deepEqual([live.job?.left, live.terminals], [1, []]);
  world.kafka.cluster.log(TOPICS.source, 0).deleteBefore(1);
  const decided = await explain(world, inspection, { partition: 0, offset: 0 });
  assert.deepEqual([decided.state, decided.timestampMs], ['decided', null]);
});

test('after a reset the summary shows the latest decision', async () => {
  const world = new World({ partitions: 1 });
  world.start();
  for (let n = 0; n < 3; n++) world.event(0);
  await world.untilSettled(60_000);
  for (const instance of world.instances) await world.through(instance.stop());
  world.kafka.cluster.commitOffset(TOPICS.group, TOPICS.source, 0, 0);
  world.start();
  await world.clock.advance(20_000);
  const explained = await explain(world, inspectionOf(world), { partition: 0, offset: 1 });
  assert.equal(explained.state, 'decided');
  assert.deepEqual(
    explained.terminals.map(({ eventId }) => eventId),
    ['content-0-1', 'content-0-1#1'],
  );
  assert.match(explained.summary, /^Decided: /);
});

test('a record is identified by its coordinates or its event id', async () => {
  const { pipeline } = inspectionOf(new World());
  for (const text of ['2:1371', 'content-2-1371', 'content-2-1371#3'])
    assert.deepEqual(namedRecord(pipeline, text), { partition: 2, offset: 1371 });
  for (const text of ['other-2-1371', 'content-1371', 'content-2-x', '2:x', 'content-1-2-3'])
    assert.throws(() => namedRecord(pipeline, text), {
      failure: 'usage',
      message: /is not an event id of pipeline reviews, such as content-2-1371: .*--pipeline/,
    });
});
