/** Samples of keys: stable, of the right size, and contained in each other. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { SourceRecord } from '../../../src/core/record.ts';
import { outsideSample } from '../../../src/events/sampling.ts';
import { murmur2, partitionOfHash } from '../../../src/kafka/producer/send-plan.ts';

const recordOf = (key: string | Buffer | null, at = { partition: 0, offset: 0 }): SourceRecord => ({
  ...{ ...at, timestampMs: 0, value: null, headers: [] },
  key: key === null ? null : Buffer.from(key),
});
const keys = Array.from({ length: 40_000 }, (_, n) => `user-${n}`);
const percent = fc.double({ min: 1e-6, max: 100, noNaN: true });

/** Asserts that a sample of independent keys has the expected size within five standard deviations. */
function assertShare(all: readonly string[], wanted: number): void {
  const isOutside = outsideSample('events', wanted);
  const found = all.filter((key) => !isOutside(recordOf(key))).length;
  const p = wanted / 100;
  const deviation = Math.sqrt(all.length * p * (1 - p));
  assert.ok(
    Math.abs(found - all.length * p) <= 5 * deviation,
    `${found} of ${all.length} at ${wanted} %`,
  );
}

test('a sample has its share of the keys, also among the keys of one partition', () => {
  const ofOnePartition = keys.filter((key) => partitionOfHash(murmur2(Buffer.from(key)), 8) === 3);
  for (const wanted of [0.1, 1, 10, 50, 99]) {
    assertShare(keys, wanted);
    assertShare(ofOnePartition, wanted);
  }
});

test('all records of a key are in the sample or none, and larger samples contain smaller ones', () => {
  fc.assert(
    fc.property(
      fc.uint8Array().map((bytes) => Buffer.from(bytes)),
      percent,
      percent,
      fc.nat(),
      fc.nat(),
      fc.string(),
      (key, one, other, partition, offset, topic) => {
        const [small, large] = [Math.min(one, other), Math.max(one, other)];
        const isOutside = outsideSample('events', small)(recordOf(key));
        assert.equal(outsideSample(topic, small)(recordOf(key, { partition, offset })), isOutside);
        if (!isOutside) assert.equal(outsideSample('events', large)(recordOf(key)), false);
        assert.equal(outsideSample('events', 100)(recordOf(key)), false);
      },
    ),
  );
});

// Computed with `printf KEY | sha256sum`. A change of these values would change the samples of users.
for (const [name, key, digits] of [
  ['an empty key', '', 'e3b0c44298fc'],
  ['the key user-7', 'user-7', '092081140b67'],
  ['a key with bytes above 127', '\u00e9', '4a99557e4033'],
  ['a record without a key, events-3-41,', null, 'f22dd52cd29a'],
] as const) {
  test(`${name} has the same place in the samples of all versions`, () => {
    const record = recordOf(key, { partition: 3, offset: 41 });
    const place = (Number.parseInt(digits, 16) / 2 ** 48) * 100;
    assert.equal(outsideSample('events', place - 1e-9)(record), true);
    assert.equal(outsideSample('events', place + 1e-9)(record), false);
  });
}
