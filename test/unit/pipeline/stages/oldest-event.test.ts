/** The age that is alerted on: of the oldest record that was taken and has no terminal record, wherever it waits. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { earliest, InFlightCount } from '../../../../src/pipeline/limits/in-flight.ts';
import { World, type WorldSettings } from '../../../support/engine/world.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Ages of records over three partitions: the oldest is not the first of its partition, as with producers whose clocks differ. */
const AGES_HOURS = [3, 1, 5, 9, 4, 2];

const CASES: Readonly<Record<string, WorldSettings>> = {
  'in buffers that are not full': {
    options: { batch: { maxRows: 100, maxAgeMs: 24 * HOUR }, journal: { partitions: 1 } },
  },
  'for a type that the service refuses': {
    service: {
      fault: (operation) => (operation === 'create' ? { failure: 'rejected' } : undefined),
    },
  },
  'for a review': { service: { review: () => ({ afterMs: 'never' }) } },
};

for (const [where, settings] of Object.entries(CASES)) {
  test(`the oldest event is reported while records wait ${where}`, async () => {
    const world = new World({ partitions: 3, ...settings });
    const instance = world.start();
    const oldest = () => instance.gauge('oldest_unsettled_timestamp_seconds');
    await world.clock.advance(2_000);
    assert.equal(oldest(), undefined);
    const nowMs = world.clock.now();
    for (const [n, hours] of AGES_HOURS.entries()) world.event(n % 3, 'a', nowMs - hours * HOUR);
    await world.clock.advance(MINUTE);
    assert.equal(oldest(), (nowMs - 9 * HOUR) / 1000);
  });
}

test('the oldest of more batches than a call has arguments is found', () => {
  const counts = new InFlightCount();
  for (let n = 300_000; n > 0; n--) counts.add(1, n);
  assert.equal(counts.oldestEventMs, 1);
  assert.equal(earliest([]), Number.POSITIVE_INFINITY);
});
