/** The age that is alerted on: of the oldest record that was taken and has no terminal record, wherever it waits. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { earliest, InFlightCount } from '../../../../src/pipeline/limits/in-flight.ts';
import { oldestTakenMs, watchOldest } from '../../../support/engine/oldest-watch.ts';
import { World, type WorldSettings } from '../../../support/engine/world.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

interface Waiting extends WorldSettings {
  /** Types of the records; undefined for one that does not decode. */
  readonly types?: readonly (string | undefined)[];
  /** True if what holds them up never ends. */
  readonly forGood?: true;
}

/**
 * Ages of six records over three partitions: the oldest is not the first of its partition, as with
 * producers whose clocks differ.
 */
const AGES_HOURS = [3, 1, 5, 9, 4, 2];

/** Obstacles that delay records until `over`. */
const CASES: Readonly<Record<string, (over: () => boolean) => Waiting>> = {
  'in buffers that are not full, over several partitions': () => ({
    types: ['a', 'b', 'c', 'a', 'b', 'c'],
    options: { batch: { maxRows: 100, maxAgeMs: 24 * HOUR }, journal: { partitions: 1 } },
    forGood: true,
  }),
  'for a type that the service refuses': (over) => ({
    service: {
      fault: (operation) =>
        operation === 'create' && !over() ? { failure: 'rejected' } : undefined,
    },
  }),
  'for a review': (over) => ({
    service: { review: () => ({ afterMs: over() ? 100 : 'never' }) },
    forGood: true,
  }),
  'behind dead letters that Kafka is to take': (over) => ({
    types: [undefined, 'a', undefined, 'a', undefined, 'a'],
    options: { chunk: { maxRows: 1 } },
    hooks: {
      beforeCommit: ({ transaction }) =>
        transaction.outputs !== undefined && !over() ? never() : undefined,
    },
    forGood: true,
  }),
};

const never = () => new Promise<void>(() => undefined);

for (const [where, waiting] of Object.entries(CASES)) {
  test(`the oldest event is told while records wait ${where}`, async () => {
    let over = false;
    const { types = Array(6).fill('a'), forGood, ...settings } = waiting(() => over);
    const told: (number | undefined)[] = [];
    const world = new World({ partitions: 3, wrap: watchOldest(told), ...settings });
    const instance = world.start();
    await world.clock.advance(2_000);
    assert.equal(told.at(-1), undefined);
    const nowMs = world.clock.now();
    for (const [n, type] of types.entries()) {
      world.count();
      const timestampMs = nowMs - (AGES_HOURS[n] ?? 0) * HOUR;
      if (type === undefined) world.put(n % 3, 'not json', { timestampMs });
      else world.event(n % 3, type, timestampMs);
    }
    await world.clock.advance(MINUTE);
    assert.equal(instance.gauge('items_in_flight'), 6);
    assert.equal(oldestTakenMs(world, instance), nowMs - 9 * HOUR);
    assert.equal(told.at(-1), nowMs - 9 * HOUR);
    // The last report is of shards that are given up, perhaps with a transaction in hand.
    if (forGood) return world.through(instance.stop());
    over = true;
    await world.untilSettled(30 * MINUTE);
    await world.clock.advance(2_000);
    assert.equal(told.at(-1), undefined);
    assert.equal(instance.gauge('oldest_unsettled_timestamp_seconds'), undefined);
  });
}

test('the oldest of more batches than a call has arguments is found', () => {
  const counts = new InFlightCount();
  for (let n = 300_000; n > 0; n--) counts.add(1, n);
  assert.equal(counts.oldestEventMs, 1);
  assert.equal(earliest([]), Number.POSITIVE_INFINITY);
});
