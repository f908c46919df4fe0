/** Memory of result files: slices are released after the commit of their decisions and on all other paths. Engine in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changed, withFiles } from '../../../support/engine/changed.ts';
import { World, type WorldSettings } from '../../../support/engine/world.ts';
import { LentSlices } from '../../../support/memory/service/lent-slices.ts';
import type { ResultLine, ServiceRow } from '../../../support/memory/service/review-service.ts';

const MINUTE = 60_000;

/** Starts a world with a batch of 12 records, whose result file has slices of two rows. */
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

/** Waits until all records are settled. Decisions are correct although released memory is overwritten (LentSlices). */
async function assertSettled(world: World, made: number): Promise<void> {
  await world.untilSettled(15 * MINUTE);
  world.assertExactlyOnce();
  await world.clock.settle();
  assert.deepEqual([world.service.slices.made, world.service.slices.lent], [made, 0]);
}

test('a slice is released after the commit of the chunk that contains its last row', async () => {
  const world = twelve();
  await assertSettled(world, 6);
  assert.equal(world.service.slices.mostLent, 2, 'a chunk of three rows uses two slices');
});

test('slices with few usable rows do not accumulate, because a chunk is limited by their memory', async () => {
  const mixed = (rows: readonly ServiceRow[]) =>
    rows.flatMap((row) =>
      Array.from({ length: 10 }, (_, n) => ({ ...row, offset: n * 100 + row.offset })),
    );
  // A slice has about 1,000 bytes. All decisions would fit into one chunk.
  const world = twelve(mixed, {
    service: { rowsPerSlice: 10 },
    options: { chunk: { maxRows: 1_000, maxBytes: 2_000 } },
  });
  await assertSettled(world, 12);
  assert.ok(world.service.slices.mostLent <= 5, `${world.service.slices.mostLent} at once`);
});

test('a slice that arrives after the shard was given up is released', async () => {
  const slices = new LentSlices();
  let asked = false;
  const world = twelve(undefined, {
    wrap: (ports, { clock }) => ({
      ...ports,
      kind: changed(withFiles(ports.kind), {
        results: async function* (status, job, signal) {
          for await (const slice of withFiles(ports.kind).results(status, job, signal)) {
            asked = true;
            // The storage returns more data after the stop.
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
