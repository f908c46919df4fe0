/** Pauses of a content type, or of the whole pipeline: wait, and that nothing is lost by it. Over the whole engine in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { World } from '../../../support/engine/world.ts';

const MINUTE = 60_000;

const errors = (world: World) => world.decisions().filter(({ status }) => status === 'error');

test('while a type fails as a whole, no batch but the probe counts against its items', async () => {
  let failing = true;
  const world = new World({
    partitions: 1,
    options: { batch: { maxRows: 1 }, review: { attempts: 1, pauseMs: MINUTE } },
    service: { review: () => ({ afterMs: 20_000, ...(failing ? { state: 'failed' } : {}) }) },
  });
  world.start();
  // All under review before the first of them fails.
  world.produce(40, { types: ['a'] });
  await world.clock.advance(5 * MINUTE);
  failing = false;
  await world.untilSettled(60 * MINUTE);
  world.assertExactlyOnce();
  const given = errors(world).length;
  assert.ok(
    given >= 4 && given <= 4 + 5,
    `${given} of 40: those before the type was known to fail, and one probe a minute`,
  );
});
