/** The age that is alerted on: of the oldest record that was taken and has no terminal record, wherever it waits. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { earliest, InFlightCount } from '../../../../src/pipeline/limits/in-flight.ts';

test('the oldest of more batches than a call has arguments is found', () => {
  const counts = new InFlightCount();
  for (let n = 300_000; n > 0; n--) counts.add(1, n);
  assert.equal(counts.oldestEventMs, 1);
  assert.equal(earliest([]), Number.POSITIVE_INFINITY);
});
