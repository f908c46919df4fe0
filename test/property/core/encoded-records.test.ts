import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import fc from 'fast-check';
import { EncodedRecords } from '../../../src/core/bytes/encoded-records.ts';
import { readRecord, sizeOfRecord, writeRecord } from '../../../src/core/bytes/record-bytes.ts';
import type { OutgoingRecord } from '../../../src/core/record.ts';
import { asBytes, hostileRecord } from '../../support/records/hostile-records.ts';

// kafkajs as it was released: another encoder.
const load = createRequire(import.meta.url);
const KafkajsRecord = load('kafkajs/src/protocol/recordBatch/record/v0/index.js') as (
  fields: object,
) => {
  readonly buffer: Buffer;
};

/** Zigzag and base 128, in numbers that know no bounds. */
function varintOf(value: number): number[] {
  let rest = value >= 0 ? BigInt(value) * 2n : -BigInt(value) * 2n - 1n;
  const out: number[] = [];
  for (; rest >= 128n; rest /= 128n) out.push(Number(rest % 128n) | 128);
  return [...out, Number(rest)];
}

test('encoded records have the computed size and decode to the same record', () => {
  fc.assert(
    fc.property(hostileRecord, fc.nat({ max: 9 }), (record, start) => {
      const size = sizeOfRecord(record);
      const to = Buffer.alloc(start + size + 9, 0xaa);
      assert.equal(writeRecord(record, to, start), start + size);
      assert.ok(to.subarray(0, start).every((byte) => byte === 0xaa));
      assert.ok(to.subarray(start + size).every((byte) => byte === 0xaa));
      assert.deepEqual(readRecord(to, start), asBytes(record));
    }),
  );
});

test('a record’s bytes are those that kafkajs writes behind the offset delta', () => {
  fc.assert(
    fc.property(hostileRecord, ({ key, value, headers = [] }) => {
      // Its headers are an object: names that it can hold, each once, and no nulls.
      const named = new Map(headers.filter(([name, one]) => name !== '__proto__' && one !== null));
      // An object puts names that are numbers first.
      const inItsOrder = Object.entries(Object.fromEntries(named));
      const theirs = KafkajsRecord({
        offsetDelta: 0,
        timestampDelta: 0,
        key,
        value,
        headers: Object.fromEntries(named),
      }).buffer;
      const record = { key, value, headers: inItsOrder };
      const ours = Buffer.alloc(sizeOfRecord(record));
      writeRecord(record, ours, 0);
      const front = [...varintOf(ours.length + 3), 0, 0, 0];
      assert.deepEqual(theirs, Buffer.from([...front, ...ours]));
    }),
  );
});

test('encoded records keep their order, their bytes and their sizes, however they came and however many, also after a clear', () => {
  const run = fc.array(fc.tuple(hostileRecord, fc.boolean()), { maxLength: 200 });
  fc.assert(
    fc.property(run, run, (before, after) => {
      const encoded = new EncodedRecords();
      for (const some of [before, after]) {
        encoded.clear();
        assert.deepEqual([encoded.length, encoded.bytes, [...encoded]], [0, 0, []]);
        const source = Buffer.alloc(
          some.reduce((size, [record]) => size + sizeOfRecord(record), 0),
        );
        let end = 0;
        for (const [record, ready] of some) {
          if (!ready) encoded.add(record);
          else {
            const start = end;
            end = writeRecord(record, source, start);
            encoded.addBytes(source, start, end);
          }
        }
        assertHolds(
          encoded,
          some.map(([record]) => record),
        );
      }
    }),
    { numRuns: 40 },
  );
});

function assertHolds(encoded: EncodedRecords, records: readonly OutgoingRecord[]): void {
  assert.equal(encoded.length, records.length);
  assert.deepEqual([...encoded], records.map(asBytes));
  const to = Buffer.alloc(encoded.bytes);
  let at = 0;
  for (const [row, record] of records.entries()) {
    const size = sizeOfRecord(record);
    assert.equal(encoded.size(row), size);
    const next = encoded.copy(row, to, at);
    assert.equal(next, at + size);
    assert.deepEqual(readRecord(to, at), asBytes(record));
    at = next;
  }
  assert.equal(at, encoded.bytes);
}

test('a record with a part that is neither bytes nor text is not added, and the others do not change', () => {
  const wrong = 7 as unknown as Buffer;
  const bad: OutgoingRecord[] = [
    { key: wrong, value: null },
    { key: null, value: wrong },
    { key: null, value: null, headers: [['name', wrong]] },
    { key: null, value: null, headers: [[wrong as unknown as string, null]] },
  ];
  for (const record of bad) {
    const encoded = EncodedRecords.of([{ key: 'k', value: 'v' }]);
    assert.throws(() => encoded.add(record), TypeError);
    assertHolds(encoded, [{ key: 'k', value: 'v' }]);
  }
});
