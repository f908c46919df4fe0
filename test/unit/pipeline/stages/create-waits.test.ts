/** Batches that cannot be created do not block batches of other types. Tested with the whole engine in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServiceFailure } from '../../../../packages/client/src/base/service-error.ts';
import { World } from '../../../support/engine/world.ts';

const MINUTE = 60_000;

for (const failure of [
  'not_found',
  'unavailable',
  'unauthorized',
  'protocol',
  'rejected',
] satisfies ServiceFailure[]) {
  test(`a type whose creates fail with ${failure} does not block other types, and one batch at a time is retried`, async () => {
    let failing = true;
    let asked = 0;
    const world = new World({
      partitions: 2,
      service: {
        fault: (operation, _id, type) => {
          if (operation !== 'create' || type !== 'bad' || !failing) return undefined;
          asked++;
          return { failure };
        },
      },
    });
    const instance = world.start();
    world.produce(100, { types: ['bad', 'good'] });
    await world.clock.advance(10 * MINUTE);
    assert.equal(world.decisions().length, 50);
    assert.equal(instance.gauge('shards_paused', { reason: 'transfer' }) ?? 0, 0);
    assert.ok(
      asked >= 20 && asked < 600,
      `${asked} attempts in 10 minutes, with 10 waiting batches`,
    );
    failing = false;
    await world.untilSettled(MINUTE);
    world.assertExactlyOnce();
  });
}

test('when the service creates batches again, waiting batches do not wait for another pause', async () => {
  let failing = true;
  const world = new World({
    partitions: 1,
    options: { review: { pauseMs: 60 * MINUTE } },
    // Responses take time, so the other batches wait for the first.
    shuffle: true,
    service: {
      fault: (operation) =>
        failing && operation === 'create' ? { failure: 'unavailable' } : undefined,
    },
  });
  world.start();
  world.produce(100, { types: ['a'] });
  await world.clock.advance(5 * MINUTE);
  failing = false;
  await world.untilSettled(MINUTE);
  world.assertExactlyOnce();
});
