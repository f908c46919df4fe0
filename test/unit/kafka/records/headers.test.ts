import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { varint, writeBatch, writeRecord } from '../../../support/kafka/record-batches.ts';
import { readAll } from '../../../support/records/read-pieces.ts';

const v = (text: string) => ({ value: Buffer.from(text) });

/** Returns a record with `count` headers without a name or a value, two bytes each. */
function manyHeaders(count: number): Buffer {
  const body = Buffer.concat([
    Buffer.from([0, 0, 2, 1, 1]),
    varint(count),
    Buffer.alloc(count * 2),
  ]);
  return Buffer.concat([varint(body.length), body]);
}

describe('headers of a record', () => {
  it('may have names that are not UTF-8', async () => {
    const { records } = await readAll(
      writeBatch({ records: [{ headers: [[Buffer.from([0x61, 0xff]), null]] }] }),
    );
    assert.deepEqual(records[0]?.headers, [['a\ufffd', null]]);
  });

  for (const count of [1_001, 20_000, 100_000]) {
    it(`are too many if a record has ${count}, and only its offset is unreadable`, async () => {
      const packed = Buffer.concat([
        writeRecord({ delta: 0, ...v('before') }),
        manyHeaders(count),
        writeRecord({ delta: 2, ...v('behind') }),
      ]);
      const read = await readAll(writeBatch({ packed, count: 3, lastDelta: 2 }));
      assert.deepEqual(read.offsets, [0, 2]);
      assert.deepEqual(read.ranges, [[1, 2, 'too_many_headers']]);
      assert.match(
        read.unreadable[0]?.poison.message ?? '',
        new RegExp(`${count} headers, but at most 1000 are allowed`),
      );
      assert.equal(read.nextOffset, 3);
    });
  }

  it('end the batch before memory is allocated if their number is impossible', async () => {
    const body = Buffer.concat([
      Buffer.from([0, 0, 2, 1, 1]),
      varint(2 ** 31 - 1),
      Buffer.alloc(8),
    ]);
    const packed = Buffer.concat([writeRecord({}), varint(body.length), body]);
    const read = await readAll(writeBatch({ packed, count: 2, lastDelta: 1 }), {
      limits: { maxHeaders: 2 ** 31 },
    });
    assert.deepEqual(read.offsets, [0]);
    assert.deepEqual(read.ranges, [[1, 2, 'unreadable_batch']]);
  });
});
