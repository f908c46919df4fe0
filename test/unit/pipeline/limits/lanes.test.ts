/** Lanes, tested with the whole engine in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changed } from '../../../support/engine/changed.ts';
import { World } from '../../../support/engine/world.ts';
import { sourceValue } from '../../../support/memory/service/scripted-kind.ts';

const SECOND = 1_000;
const CONTENT = 'x'.repeat(300);
const ARCHIVE = 4_000;

/** Returns a world whose uploads take a second each. */
function slowWorld(options: object): World {
  const world: World = new World({
    partitions: 2,
    budgetBytes: 400_000,
    options: {
      batch: { maxRows: 50, maxAgeMs: 2 * SECOND },
      review: { pollMs: SECOND },
      ...options,
    },
    wrap: (ports) => ({
      ...ports,
      kind: changed(ports.kind, {
        upload: async (job, body, signal) => {
          await world.clock.sleep(SECOND, signal);
          return ports.kind.upload(job, body, signal);
        },
      }),
    }),
  });
  return world;
}

/** Writes a backlog, then a live event every second. Returns the longest delay of a live decision in seconds. */
async function delayOfLive(world: World, seconds: number): Promise<number> {
  world.start();
  for (let n = 0; n < ARCHIVE; n++)
    world.put(n % 2, sourceValue({ type: 'archive', content: CONTENT }));
  const waiting = new Map<string, number>();
  let longest = 0;
  for (let second = 0; second < seconds || waiting.size > 0; second++) {
    if (second < seconds) {
      const offset = world.put(second % 2, sourceValue({ type: 'live', content: CONTENT }));
      waiting.set(`${second % 2}:${offset}`, second);
    }
    await world.clock.advance(SECOND);
    for (const { partition, offset, type } of world.decisions()) {
      const place = `${partition}:${offset}`;
      if (type !== 'live' || !waiting.has(place)) continue;
      longest = Math.max(longest, second + 1 - (waiting.get(place) as number));
      waiting.delete(place);
    }
  }
  return longest;
}

test('live items wait for a backlog without lanes, but not if the backlog is in another lane', async () => {
  const lanes = slowWorld({ lanes: { live: { share: 0.5 } } });
  const withLanes = await delayOfLive(lanes, 15);
  const withoutLanes = await delayOfLive(slowWorld({}), 2);
  assert.ok(withLanes <= 7, `${withLanes} s with lanes`);
  assert.ok(withoutLanes > 15, `${withoutLanes} s without lanes`);
  await lanes.untilSettled(600 * SECOND);
  lanes.assertExactlyOnce();
});

test('a lane without room submits its open batches instead of waiting for their age', async () => {
  const world = new World({
    partitions: 1,
    budgetBytes: 1_000_000,
    options: {
      batch: { maxRows: 1_000, maxAgeMs: 300 * SECOND },
      lanes: { live: { share: 0.5 } },
      review: { pollMs: SECOND },
    },
  });
  world.start();
  for (let n = 0; n < 5_000; n++)
    world.put(0, sourceValue({ type: `type ${n % 20}`, content: CONTENT }));
  await world.clock.advance(120 * SECOND);
  const decided = world.decisions().length;
  assert.ok(decided > 3_000, `${decided} decided`);
});

test('retries overtake new batches that wait until fewer rows are under review', async () => {
  let reviews = 0;
  const world = new World({
    partitions: 1,
    options: {
      batch: { maxRows: 50, maxAgeMs: SECOND },
      quota: { rowsUnderReview: 8 },
      review: { pollMs: SECOND, attempts: 3 },
    },
    service: {
      review: () =>
        reviews++ < 4 ? { afterMs: 20 * SECOND, state: 'failed' } : { afterMs: SECOND },
    },
  });
  world.start();
  world.produce(40, { types: ['a'] });
  await world.untilSettled(600 * SECOND);
  world.assertExactlyOnce();
});

test('live items overtake a backlog that has used up the quota', async () => {
  const world = new World({
    partitions: 1,
    options: {
      batch: { maxRows: 10, maxAgeMs: SECOND },
      quota: { rowsPerMinute: 40 },
      lanes: { live: { share: 0.5 } },
      review: { pollMs: SECOND },
    },
  });
  world.start();
  for (let n = 0; n < 200; n++) world.put(0, sourceValue({ type: 'archive', content: 'x' }));
  await world.clock.advance(5 * SECOND);
  for (let n = 0; n < 5; n++) world.put(0, sourceValue({ type: 'live', content: 'x' }));
  await world.clock.advance(75 * SECOND);
  assert.equal(world.decisions().filter(({ type }) => type === 'live').length, 5);
  await world.untilSettled(600 * SECOND);
  world.assertExactlyOnce();
});

test('each lane has its number of records in flight and its oldest event as gauges', async () => {
  const world = new World({
    partitions: 1,
    options: { lanes: { live: { share: 0.5 } }, batch: { maxRows: 10, maxAgeMs: SECOND } },
    service: { review: () => ({ afterMs: 600 * SECOND }) },
  });
  const instance = world.start();
  world.put(0, sourceValue({ type: 'archive', content: 'x' }), { timestampMs: 5_000 });
  for (let n = 0; n < 3; n++)
    world.put(0, sourceValue({ type: 'live', content: 'x' }), { timestampMs: 7_000 + n });
  await world.clock.advance(10 * SECOND);
  const gauge = (name: string, lane: string) => instance.gauge(name, { lane });
  assert.equal(gauge('lane_items_in_flight', 'live'), 3);
  assert.equal(gauge('lane_items_in_flight', 'default'), 1);
  assert.equal(gauge('lane_oldest_timestamp_seconds', 'live'), 7);
  assert.equal(gauge('lane_oldest_timestamp_seconds', 'default'), 5);
  await world.untilSettled(1_200 * SECOND);
  await world.clock.advance(2 * SECOND);
  assert.equal(gauge('lane_items_in_flight', 'live'), 0);
});

test('a type with limits of its own has batches of that size, and the others keep the general limits', async () => {
  const world = new World({
    partitions: 1,
    options: { batch: { maxRows: 20, maxAgeMs: SECOND, types: { chat: { maxRows: 4 } } } },
  });
  world.start();
  for (let n = 0; n < 40; n++)
    world.put(0, sourceValue({ type: n % 2 === 0 ? 'chat' : 'post', content: 'x' }));
  await world.untilSettled(60 * SECOND);
  const batches = (type: string) =>
    new Set(
      world
        .decisions()
        .filter((one) => one.type === type)
        .map(({ remote }) => remote),
    ).size;
  assert.deepEqual([batches('chat'), batches('post')], [5, 1]);
});
