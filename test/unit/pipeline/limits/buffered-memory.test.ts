/** Memory of open batches in the budget (I7), tested with the whole engine in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { JsonLines } from '../../../../src/kinds/import/json-lines.ts';
import { changed } from '../../../support/engine/changed.ts';
import { type Instance, World } from '../../../support/engine/world.ts';
import { sourceValue } from '../../../support/memory/service/scripted-kind.ts';

/** Size of an empty batch and of two blocks of offsets, which consecutive offsets of one partition need. */
const EMPTY_BYTES = 1024 + 2 * 48;

/** Starts a world that stores rows in slabs, as real kinds do, and seals no batch for an hour. */
function filling(): { world: World; instance: Instance } {
  const world = new World({
    partitions: 1,
    budgetBytes: 8 * 1024 * 1024,
    options: { batch: { maxRows: 100_000, maxBytes: 8 * 1024 * 1024, maxAgeMs: 3_600_000 } },
    wrap: (ports) => ({
      ...ports,
      kind: changed(ports.kind, { rows: (pool) => new JsonLines(pool) }),
    }),
  });
  return { world, instance: world.start() };
}

test('an open batch counts the buffers of its rows and its coordinates', async () => {
  const { world, instance } = filling();
  for (let n = 0; n < 1_000; n++)
    world.put(0, sourceValue({ type: 'a', content: 'x'.repeat(400) }));
  await world.clock.advance(10_000);
  assert.equal(instance.gauge('items_buffered'), 1_000);
  const { usedBytes, pool } = instance.budget;
  assert.equal(usedBytes, pool.lentBytes + EMPTY_BYTES);
  assert.ok(
    pool.lentBytes >= 1_000 * 401 && pool.lentBytes < 2 * 1_000 * 401,
    `${pool.lentBytes} bytes of slabs`,
  );
});
