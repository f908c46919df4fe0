/** A batch that cannot be created just now holds nothing that batches of other types need. Over the whole engine in memory. */
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
  test(`a type whose creates are answered with ${failure} holds up no other, and is asked for by one batch at a time`, async () => {
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
    assert.ok(asked >= 20 && asked < 600, `${asked} tries in 10 minutes, with 10 batches waiting`);
    failing = false;
    await world.untilSettled(MINUTE);
    world.assertExactlyOnce();
  });
}

test('when the service creates batches again, batches that waited for the first need not wait for a pause of their own', async () => {
  let failing = true;
  const world = new World({
    partitions: 1,
    options: { review: { pauseMs: 60 * MINUTE } },
    // Answers take time: the others find the gate closed behind the first.
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
