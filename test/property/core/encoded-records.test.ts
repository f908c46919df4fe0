import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { EncodedRecords } from '../../../src/core/bytes/encoded-records.ts';
import { readRecord, sizeOfRecord, writeRecord } from '../../../src/core/bytes/record-bytes.ts';
import type { OutgoingRecord } from '../../../src/core/record.ts';
import { asBytes, hostileRecord } from '../../support/records/hostile-records.ts';

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

test('encoded records keep their order, their bytes and their sizes, for any number of records, added in any way, also after a clear', () => {
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

test('a record with a part that is neither bytes nor a string is not added, and the other records do not change', () => {
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
