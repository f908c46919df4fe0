/** I8: what hangs is noticed, whatever the worker was doing. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Health } from '../../../src/telemetry/health.ts';
import { World } from '../../support/engine/world.ts';

/** A world whose instance reports to the real health, and whose commit number `hangs` is never answered. */
function world(hangs: number) {
  let health: Health | undefined;
  const world = new World({
    hooks: { commitFate: ({ number }) => (number === hangs ? 'silent' : 'commit') },
    wrap: (ports) => {
      health = new Health({ stuckAfterMs: 60_000, now: () => ports.clock.now() });
      return { ...ports, health };
    },
  });
  world.start();
  world.produce(10);
  return { world, isLive: () => health?.liveness().ok === true };
}

for (const [when, hangs] of [
  ['a claim', 1],
  ['an owner', 3],
] as const) {
  test(`a transaction of ${when} that is never answered makes the process not live, and no sooner than after minutes`, async () => {
    const { world: w, isLive } = world(hangs);
    await w.clock.advance(180_000);
    assert.ok(isLive(), 'a transaction may take its time');
    await w.clock.advance(120_000);
    assert.ok(!isLive());
  });
}
