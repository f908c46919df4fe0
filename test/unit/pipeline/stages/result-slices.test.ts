/** The memory of result files over the whole engine: a slice is given back once its decisions are committed, and on every other path. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changed, withFiles } from '../../../support/engine/changed.ts';
import { World, type WorldSettings } from '../../../support/engine/world.ts';
import { LentSlices } from '../../../support/memory/service/lent-slices.ts';
import type { ResultLine, ServiceRow } from '../../../support/memory/service/review-service.ts';

const MINUTE = 60_000;

/** A batch of 12 records whose result file comes two rows at a time; a chunk has three. */
function twelve(
  results: (rows: readonly ServiceRow[]) => readonly ResultLine[] = (rows) => rows,
  { service, options, ...settings }: WorldSettings = {},
): World {
  const world = new World({
    partitions: 1,
    service: {
      rowsPerSlice: 2,
      review: ({ id }) => (id === 'batch-1' ? { results } : {}),
      ...service,
    },
    options: { ...options, batch: { maxRows: 12, maxAgeMs: 600_000 } },
    ...settings,
  });
  world.start();
  for (let n = 0; n < 12; n++) world.event(0);
  return world;
}

/** Decisions are what they are wherever the memory was written again: see LentSlices. */
async function assertSettled(world: World, made: number): Promise<void> {
  await world.untilSettled(15 * MINUTE);
  world.assertExactlyOnce();
  await world.clock.settle();
  assert.deepEqual([world.service.slices.made, world.service.slices.lent], [made, 0]);
}

test('slices are given back with the chunk that has the last of their rows, and not before it is committed', async () => {
  const world = twelve();
  await assertSettled(world, 6);
  assert.equal(world.service.slices.mostLent, 2, 'three rows come from two slices');
});

test('slices with one row to take among many to drop do not pile up: their memory makes a chunk full', async () => {
  const mixed = (rows: readonly ServiceRow[]) =>
    rows.flatMap((row) =>
      Array.from({ length: 10 }, (_, n) => ({ ...row, offset: n * 100 + row.offset })),
    );
  // A slice has about 1,000 bytes, and all decisions fit into one chunk.
  const world = twelve(mixed, {
    service: { rowsPerSlice: 10 },
    options: { chunk: { maxRows: 1_000, maxBytes: 2_000 } },
  });
  await assertSettled(world, 12);
  assert.ok(world.service.slices.mostLent <= 5, `${world.service.slices.mostLent} at once`);
});

test('a slice that comes after the shard was given up is given back', async () => {
  const slices = new LentSlices();
  let asked = false;
  const world = twelve(undefined, {
    wrap: (ports, { clock }) => ({
      ...ports,
      kind: changed(withFiles(ports.kind), {
        results: async function* (status, job, signal) {
          for await (const slice of withFiles(ports.kind).results(status, job, signal)) {
            asked = true;
            // As a storage does that has more at hand.
            await clock.sleep(2_000);
            yield slices.of(slice);
            slice.release();
          }
        },
      }),
    }),
  });
  await world.clock.runUntil(() => asked, MINUTE);
  const [first] = world.instances;
  let stopped = false;
  void first?.stop().then(() => {
    stopped = true;
  });
  await world.clock.runUntil(() => stopped && slices.made > 0, MINUTE);
  await world.clock.settle();
  assert.deepEqual([slices.made, slices.lent], [1, 0]);
});
