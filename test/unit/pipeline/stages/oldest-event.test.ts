/** Age for alerts, which is the age of the oldest record that was read and has no terminal record yet. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { earliest, InFlightCount } from '../../../../src/pipeline/limits/in-flight.ts';

test('the oldest event is found among more batches than a call can have arguments', () => {
  const counts = new InFlightCount();
  for (let n = 300_000; n > 0; n--) counts.add(1, n);
  assert.equal(counts.oldestEventMs, 1);
  assert.equal(earliest([]), Number.POSITIVE_INFINITY);
});
