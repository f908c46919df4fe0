import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { crc32c } from '../../../../src/kafka/records/index.ts';
import {
  seal,
  slowCrc32c,
  varint,
  writeBatch,
  writeRecord,
} from '../../../support/kafka/record-batches.ts';
import { nextOffset, readAll } from '../../../support/records/read-pieces.ts';

const three = (baseOffset: number) => writeBatch({ baseOffset, records: [{}, {}, {}] });
const next = (bytes: Buffer | Buffer[], fetchOffset = 0, endOffset = 1_000) =>
  nextOffset({
    bytes: Buffer.isBuffer(bytes) ? bytes : Buffer.concat(bytes),
    fetchOffset,
    endOffset,
  });
/** Returns a copy of a batch with a damaged byte that the checksum covers. */
function damaged(batch: Buffer, at = batch.length - 1): Buffer {
  const copy = Buffer.from(batch);
  copy[at] = (copy[at] as number) ^ 0x55;
  return copy;
}

describe('the batch headers of a response', () => {
  it('move the position past a batch whose last records were compacted away, and past an empty batch', async () => {
    const bytes = [
      writeBatch({ baseOffset: 5, records: [{}], lastDelta: 3 }),
      writeBatch({ baseOffset: 9, records: [], lastDelta: 5 }),
    ];
    assert.equal(next(bytes, 5), 15);
    const read = await readAll(bytes, { fetchOffset: 5 });
    assert.deepEqual([read.offsets, read.ranges, read.nextOffset], [[5], [], 15]);
  });

  it('leave the position unchanged if no batch is complete or all were read before', async () => {
    assert.equal(next(Buffer.alloc(0), 90), 90);
    assert.equal(next(three(10).subarray(0, -1), 10), 10);
    assert.equal(next(three(10), 20), 20);
    assert.deepEqual((await readAll(three(10), { fetchOffset: 20 })).pieces, []);
  });

  it('with an impossible offset, which no checksum covers, are unreadable up to the next batch, or alone if there is none', async () => {
    const endOffset = 20;
    for (const base of [2 ** 53 - 2, 2 ** 60, -1, endOffset + 2 ** 31]) {
      const between = [three(10), three(base), three(16)];
      const read = await readAll(between, { fetchOffset: 10, endOffset });
      assert.deepEqual(read.offsets, [10, 11, 12, 16, 17, 18], String(base));
      assert.deepEqual(read.ranges, [[13, 16, 'unreadable_batch']]);
      assert.match(read.unreadable[0]?.poison.message ?? '', /offset is impossible/);
      const last = await readAll([three(10), three(base)], { fetchOffset: 10, endOffset });
      assert.deepEqual(
        [last.offsets, last.ranges, last.nextOffset],
        [[10, 11, 12], [[13, 14, 'unreadable_batch']], 14],
      );
    }
    assert.equal(
      nextOffset({ bytes: three(2 ** 53 - 4), fetchOffset: 0, endOffset: 2 ** 53 - 1 }),
      2 ** 53 - 1,
    );
  });

  it('of batches that were appended after the high watermark of the response are read', async () => {
    const read = await readAll([three(10), three(13), three(40)], {
      fetchOffset: 10,
      endOffset: 13,
    });
    assert.deepEqual([read.offsets, read.ranges], [[10, 11, 12, 13, 14, 15, 40, 41, 42], []]);
    assert.equal(next([three(10), three(13)], 10, 13), 16);
  });

  it('of a log beyond the largest safe integer are refused', async () => {
    const endOffset = 2 ** 53;
    assert.throws(() => nextOffset({ bytes: three(10), fetchOffset: 10, endOffset }), /2\^53 - 1/);
    await assert.rejects(readAll(three(10), { fetchOffset: 10, endOffset }), /2\^53 - 1/);
  });
});

describe('a batch with a wrong checksum', () => {
  it('is reported up to the next batch, and its neighbours are read', async () => {
    const read = await readAll([three(0), damaged(three(3)), three(6)]);
    assert.deepEqual(
      [read.offsets, read.ranges],
      [[0, 1, 2, 6, 7, 8], [[3, 6, 'unreadable_batch']]],
    );
    assert.match(read.unreadable[0]?.poison.message ?? '', /offset 3 .*CRC-32C/);
  });

  it('is not trusted for its last offset', async () => {
    const reaching = damaged(
      writeBatch({ baseOffset: 3, records: [{}, {}, {}], lastDelta: 2 ** 31 - 1 }),
    );
    assert.deepEqual((await readAll([reaching, three(6)])).ranges, [[3, 6, 'unreadable_batch']]);
    assert.deepEqual((await readAll(reaching, { endOffset: 20 })).ranges, [
      [3, 20, 'unreadable_batch'],
    ]);
    assert.equal(next(reaching, 0, 20), 20);
    const negative = damaged(writeBatch({ baseOffset: 3, records: [{}, {}, {}], lastDelta: -4 }));
    assert.deepEqual((await readAll([negative, three(6)])).ranges, [[3, 6, 'unreadable_batch']]);
  });

  it('moves the position by at least one offset', async () => {
    const behind = damaged(writeBatch({ baseOffset: 3, records: [{}], lastDelta: -5 }));
    const read = await readAll(behind, { fetchOffset: 8 });
    assert.deepEqual(
      [read.ranges, read.nextOffset, next(behind, 8)],
      [[[8, 9, 'unreadable_batch']], 9, 9],
    );
  });
});

describe('a batch of an unknown format', () => {
  const unknown = (baseOffset: number, format = 3) => {
    const batch = three(baseOffset);
    batch.writeInt8(format, 16);
    return batch;
  };

  it('is reported up to the next batch', async () => {
    const read = await readAll([unknown(3), three(9)]);
    assert.deepEqual([read.offsets, read.ranges], [[9, 10, 11], [[3, 9, 'unreadable_batch']]]);
    assert.match(
      read.unreadable[0]?.poison.message ?? '',
      /format 3.*message format is not supported/,
    );
  });

  it('is reported with the remedy if it is older than Kafka 0.11', async () => {
    for (const format of [0, 1]) {
      const read = await readAll([unknown(3, format), three(9)], { fetchOffset: 3 });
      assert.deepEqual([read.offsets, read.ranges], [[9, 10, 11], [[3, 4, 'unreadable_batch']]]);
      assert.match(read.unreadable[0]?.poison.message ?? '', /older than Kafka 0\.11: rewrite the/);
    }
  });

  it('is skipped one offset at a time if no next batch shows where it ends', async () => {
    const read = await readAll(unknown(3), { fetchOffset: 4 });
    assert.deepEqual([read.ranges, next(unknown(3), 4)], [[[4, 5, 'unreadable_batch']], 5]);
  });

  it('or with an impossible length ends the reading of the response', async () => {
    const short = three(3);
    short.writeInt32BE(-7, 8);
    assert.deepEqual((await readAll([three(0), short, three(6)])).ranges, [
      [3, 4, 'unreadable_batch'],
    ]);
  });
});

describe('a malformed batch', () => {
  const good = writeRecord({ delta: 0 });
  const withBody = (body: number[]) => Buffer.concat([varint(body.length), Buffer.from(body)]);
  const bodies: Record<string, Buffer> = {
    'has fewer records than it declares': Buffer.alloc(0),
    'has a record of negative length': varint(-1),
    'has a record without room for its fields': withBody([0, 0, 2]),
    'has a record that is longer than the remaining bytes': Buffer.concat([
      varint(1_000),
      Buffer.alloc(50),
    ]),
    'has a length that does not end': Buffer.alloc(12, 0xff),
    'has a timestamp that does not end': withBody([0, ...Array(11).fill(0xff), 2, 1, 1, 0]),
    'has a key that is longer than its record': withBody([0, 0, 2, 100, 1, 0]),
    'has a header without a name': withBody([0, 0, 2, 1, 1, 2, 1, 1]),
    'has extra bytes in a record': withBody([0, 0, 2, 1, 1, 0, 9]),
    'has a negative number of headers': withBody([0, 0, 2, 1, 1, 1]),
    'has an offset twice': writeRecord({ delta: 0 }),
    'has an offset before its own': writeRecord({ delta: -1 }),
    'has an offset beyond its last': writeRecord({ delta: 7 }),
  };
  for (const [name, body] of Object.entries(bodies)) {
    it(`that ${name} yields the records before it, and one range for the rest`, async () => {
      const batch = writeBatch({ packed: Buffer.concat([good, body]), count: 3, lastDelta: 6 });
      const read = await readAll([batch, three(7)]);
      assert.deepEqual([read.offsets, read.ranges], [[0, 7, 8, 9], [[1, 7, 'unreadable_batch']]]);
    });
  }

  it('that declares a negative number of records becomes one range', async () => {
    const read = await readAll([seal(writeBatch({ records: [{}, {}], count: -3 })), three(2)]);
    assert.deepEqual([read.offsets, read.ranges], [[2, 3, 4], [[0, 2, 'unreadable_batch']]]);
  });

  it('is reported only from the fetch offset on', async () => {
    const batch = writeBatch({ packed: good, count: 3, lastDelta: 6 });
    assert.deepEqual((await readAll(batch, { fetchOffset: 4 })).ranges, [
      [4, 7, 'unreadable_batch'],
    ]);
  });
});

describe('crc32c', () => {
  it('matches the check value of the standard and a slow implementation', () => {
    assert.equal(crc32c(Buffer.from('123456789')), 0xe3069283);
    assert.equal(crc32c(Buffer.from('xx123456789yyy'), 2, 11), 0xe3069283);
    for (let length = 0; length < 40; length++) {
      const bytes = Buffer.from(Array.from({ length }, (_, n) => (n * 97 + 200) & 255));
      assert.equal(crc32c(bytes), slowCrc32c(bytes));
    }
  });
});
