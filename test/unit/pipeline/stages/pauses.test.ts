/** Pauses of a content type lose no records. Tested with the whole engine in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { World } from '../../../support/engine/world.ts';

const MINUTE = 60_000;

const errors = (world: World) => world.decisions().filter(({ status }) => status === 'error');

test('while all batches of a type fail, only probes count as attempts of its records', async () => {
  let failing = true;
  const world = new World({
    partitions: 1,
    options: { batch: { maxRows: 1 }, review: { attempts: 1, pauseMs: MINUTE } },
    service: { review: () => ({ afterMs: 20_000, ...(failing ? { state: 'failed' } : {}) }) },
  });
  world.start();
  // All batches are under review before the first one fails.
  world.produce(40, { types: ['a'] });
  await world.clock.advance(5 * MINUTE);
  failing = false;
  await world.untilSettled(60 * MINUTE);
  world.assertExactlyOnce();
  const given = errors(world).length;
  assert.ok(
    given >= 4 && given <= 4 + 5,
    `${given} of 40: expected the first failures and one probe per minute`,
  );
});
