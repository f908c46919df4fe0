/** Jobs without a result file (PerItemKind) get terminal records from their source records. Tested with the engine in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../../../../packages/client/src/base/service-error.ts';
import { changed } from '../../../support/engine/changed.ts';
import { World, type WorldSettings } from '../../../support/engine/world.ts';
import { type SourceKindScript, sourceKind } from '../../../support/memory/service/source-kind.ts';

const MINUTE = 60_000;

function worldOf(script: SourceKindScript, settings: WorldSettings = {}): World {
  const world = new World({
    partitions: 1,
    wrap: (ports) => ({ ...ports, kind: sourceKind(ports.kind, script) }),
    ...settings,
    options: { batch: { maxRows: 6, maxAgeMs: 2_000 }, ...settings.options },
  });
  world.start();
  for (let n = 0; n < 6; n++) world.event(0);
  return world;
}

const said = (world: World) =>
  world
    .decisions()
    .map(({ offset, status }) => `${offset} ${status}`)
    .sort();
const balanced = (world: World) => {
  for (const { budget, metrics } of world.instances) {
    assert.equal(budget.usedBytes, 0);
    assert.equal(metrics.gauge('balance_items', { pipeline: 'reviews' }) ?? 0, 0);
  }
};

test('an invalid response is shown as a wait continuously, even between requests, and logged once', async () => {
  const asked: number[] = [];
  const world = worldOf({
    outcome: ({ offset }) => {
      if (offset !== 2) return 'success';
      asked.push(offset);
      throw new ServiceError('protocol', 'get_decision responded with 200, but: nonsense', {
        operation: 'get_decision',
        status: 200,
      });
    },
  });
  let seen = 0;
  await world.clock.advance(10_000);
  for (let second = 0; second < 240; second++) {
    await world.clock.advance(1_000);
    seen +=
      world.instances[0]?.metrics.gauge('shards_paused', {
        pipeline: 'reviews',
        reason: 'service',
      }) ?? 0;
  }
  assert.equal(seen, 240, 'the wait was shown all the time');
  assert.ok(asked.length > 3);
  const lines = world.instances[0]?.logger.lines.filter(({ message }) =>
    message.startsWith('could not get outcomes'),
  );
  assert.deepEqual(
    lines?.map(({ level, fields }) => [level, 'error' in fields && fields.error]),
    [['warn', 'get_decision responded with 200, but: nonsense']],
  );
});

test('items that never finish get the outcome that the kind returns after maxReviewTime, and are counted', async () => {
  const world = worldOf(
    { outcome: ({ offset }, last) => (offset < 4 ? 'success' : last ? 'overdue' : undefined) },
    { options: { review: { maxReviewTimeMs: 5 * MINUTE, onTimeout: 'error' } } },
  );
  await world.untilSettled(30 * MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual(said(world).slice(4), ['4 error', '5 error']);
  assert.equal(
    world.instances[0]?.metrics.counter('jobs_failed_total', {
      pipeline: 'reviews',
      reason: 'review_timeout',
    }),
    1,
  );
  balanced(world);
});

test('an unavailable service does not end items, however late they are', async () => {
  let failing = true;
  const world = worldOf(
    {
      outcome: () => {
        if (failing) throw new ServiceError('unavailable', 'down', { operation: 'get_decision' });
        return 'success';
      },
    },
    { options: { review: { maxReviewTimeMs: 5 * MINUTE, onTimeout: 'error' } } },
  );
  await world.clock.advance(30 * MINUTE);
  assert.deepEqual(said(world), []);
  failing = false;
  await world.untilSettled(5 * MINUTE);
  assert.ok(said(world).every((one) => one.endsWith('success')));
  balanced(world);
});

test('a job larger than the memory for rereads is read in pieces', async () => {
  let most = 0;
  const world = worldOf(
    {},
    { budgetBytes: 16_000, options: { batch: { maxRows: 40, maxAgeMs: 2_000 } } },
  );
  for (let n = 0; n < 34; n++) world.event(0);
  for (const { budget } of world.instances) {
    const reserve = budget.reserve.bind(budget);
    budget.reserve = (share, bytes, signal) => {
      if (share === 'reread') most = Math.max(most, bytes);
      return reserve(share, bytes, signal);
    };
  }
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
  assert.ok(most > 0 && most <= 16_000 * 0.15, String(most));
  balanced(world);
});

test('a record without an outcome does not block other pieces of its job', async () => {
  let failing = true;
  const world = worldOf(
    {
      outcome: ({ offset }) => {
        if (failing && offset === 0)
          throw new ServiceError('unavailable', 'down', { operation: 'get_decision' });
        return 'success';
      },
    },
    { budgetBytes: 16_000, options: { batch: { maxRows: 40, maxAgeMs: 2_000 } } },
  );
  for (let n = 0; n < 34; n++) world.event(0);
  await world.clock.advance(MINUTE);
  assert.ok(world.decisions().length > 30, `${world.decisions().length} of 40`);
  failing = false;
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
});

test('large outcomes are published before they accumulate', async () => {
  let held = 0;
  let most = 0;
  const world = worldOf(
    {
      slice: 1,
      value: () => {
        held++;
        most = Math.max(most, held - world.published('decisions').length);
        return 'y'.repeat(100_000);
      },
    },
    {
      options: {
        batch: { maxRows: 60, maxAgeMs: 2_000 },
        chunk: { maxRows: 5_000, maxBytes: 500_000 },
      },
    },
  );
  for (let n = 0; n < 54; n++) world.event(0);
  await world.clock.advance(MINUTE);
  assert.equal(held, 60);
  assert.ok(most <= 6, `${most} at a time`);
});

test('items that wait for outcomes do not share memory with the fetch response', async () => {
  const response = Buffer.alloc(1_000_000, 'x');
  const inResponse: boolean[] = [];
  const world = worldOf(
    {},
    {
      wrap: (ports) => {
        const kind = sourceKind(ports.kind, {});
        return {
          ...ports,
          kind: changed(kind, {
            decode: (...given) => {
              const decoded = kind.decode(...given);
              return 'item' in decoded
                ? { item: { ...decoded.item, key: response.subarray(0, 2) } }
                : decoded;
            },
            outcomes: (items, ...others) => {
              inResponse.push(...items.map(({ key }) => key?.buffer === response.buffer));
              return kind.outcomes(items, ...others);
            },
          }),
        };
      },
    },
  );
  await world.untilSettled(5 * MINUTE);
  assert.deepEqual(inResponse, [false, false, false, false, false, false]);
});
