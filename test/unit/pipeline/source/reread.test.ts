/** Reread queue: records of retries are read from the source again. Tested with the whole engine in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changed } from '../../../support/engine/changed.ts';
import { TOPICS, World } from '../../../support/engine/world.ts';

const MINUTE = 60_000;

const batches = (world: World) => [...world.service.batches.values()];

test('reread records keep the type of their job and are not filtered again', async () => {
  let filter = false;
  const world = new World({
    partitions: 1,
    service: { review: ({ id }) => (id === 'batch-1' ? { afterMs: 10_000, state: 'failed' } : {}) },
    wrap: (ports) => ({
      ...ports,
      kind: changed(ports.kind, {
        decode: (...given: Parameters<typeof ports.kind.decode>) =>
          filter && given[2] === undefined ? { skip: 'filtered' } : ports.kind.decode(...given),
      }),
    }),
  });
  world.start();
  for (let n = 0; n < 5; n++) world.event(0, 'old type');
  await world.clock.advance(5_000);
  filter = true;
  await world.untilSettled(MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual(
    batches(world).map(({ type, rows }) => [type, rows?.length]),
    [
      ['old type', 5],
      ['old type', 5],
    ],
  );
});

test('one pass over the source serves all waiting retries', async () => {
  let passes = 0;
  const world = new World({
    partitions: 1,
    options: { batch: { maxRows: 1 } },
    service: {
      review: ({ id }) => ({
        afterMs: 5_000,
        ...(Number(id.slice(6)) <= 4 ? { state: 'failed' } : {}),
      }),
    },
    wrap: (ports, { clock }) => ({
      ...ports,
      reader: changed(ports.reader, {
        read: async (range, onBatch, signal) => {
          passes++;
          await clock.sleep(MINUTE, signal);
          return ports.reader.read(range, onBatch, signal);
        },
      }),
    }),
  });
  world.start();
  for (let n = 0; n < 8; n++) world.event(0);
  await world.untilSettled(10 * MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual(
    [passes, batches(world).length],
    [2, 12],
    'one pass for the first failure, one for the failures during that pass',
  );
});

test('records far apart are reread without the records between them', async () => {
  const reads: string[] = [];
  const world = new World({
    partitions: 1,
    service: {
      review: ({ type }) =>
        type === 'a' && reads.length === 0 ? { afterMs: 30_000, state: 'failed' } : {},
    },
    wrap: (ports) => ({
      ...ports,
      reader: changed(ports.reader, {
        read: (range, onBatch, signal) => {
          reads.push(`${range.from}..${range.to}`);
          return ports.reader.read(range, onBatch, signal);
        },
      }),
    }),
  });
  world.start();
  for (const offset of [0, 1, 1_100]) {
    while (world.kafka.cluster.log(TOPICS.source, 0).end < offset) world.event(0, 'b');
    world.event(0, 'a');
  }
  await world.untilSettled(2 * MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual(reads, ['0..1', '1100..1100']);
});

/** Recreates the source topic and fills it beyond the read position, before any fetch. */
function recreateSource(world: World): void {
  world.kafka.cluster.deleteTopic(TOPICS.source);
  world.kafka.cluster.createTopic(TOPICS.source, 1);
  for (let n = 0; n < 50; n++) world.event(0);
}

const RECREATED =
  /offset \d in partition 0 of source topic content is not the one that this pipeline has read there/;

test('a retry that finds other records at the offsets of its job is refused without any decision', async () => {
  const world = new World({
    partitions: 1,
    service: { review: ({ id }) => (id === 'batch-1' ? { afterMs: 30_000, state: 'failed' } : {}) },
  });
  const instance = world.start();
  for (let n = 0; n < 5; n++) world.event(0);
  await world.clock.advance(20_000);
  recreateSource(world);
  await world.clock.advance(MINUTE);
  assert.match(instance.refused?.message ?? '', RECREATED);
  const decided = world.decisions().filter(({ offset }) => offset < 5);
  assert.deepEqual([decided.length, world.published('dead').length], [0, 0]);
});
