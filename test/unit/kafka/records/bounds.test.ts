import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { zstdCompressSync } from 'node:zlib';
import type { RecordPiece } from '../../../../src/core/ports/kafka.ts';
import { readPieces } from '../../../../src/kafka/records/index.ts';
import {
  CODECS,
  type Codec,
  varint,
  writeBatch,
  writeRecord,
} from '../../../support/kafka/record-batches.ts';
import { LIMITS, readAll } from '../../../support/records/read-pieces.ts';

const MIB = 1024 * 1024;
const v = (text: string) => ({ value: Buffer.from(text) });
const codecs = Object.keys(CODECS) as Codec[];

/**
 * Collects garbage, so that the memory used to create the batches does not count. Returns the bytes of the remaining
 * array buffers.
 */
async function collectGarbage(): Promise<number> {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc');
  for (let turn = 0; turn < 1_000 && process.memoryUsage().arrayBuffers > 20 * MIB; turn++) {
    gc();
    await new Promise((resolve) => setImmediate(resolve));
  }
  return process.memoryUsage().arrayBuffers;
}

/** Returns a zstd batch with a record of `size` zero bytes between two small records. */
function bomb(baseOffset: number, size: number): Buffer {
  const value = Buffer.alloc(size);
  const records = [
    writeRecord(v('before')),
    writeRecord({ delta: 1, value }),
    writeRecord({ delta: 2, ...v('behind') }),
  ];
  return writeBatch({
    baseOffset,
    attributes: 4,
    packed: zstdCompressSync(Buffer.concat(records)),
    count: 3,
    lastDelta: 2,
  });
}

describe('turns of the event loop', () => {
  it('are used for one piece each, even if several responses have one piece', async () => {
    const response = writeBatch({ records: [v('one')] });
    let turn = 0;
    let isOver = false;
    const count = () => {
      turn++;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    const turns: number[] = [];
    const read = async () => {
      await readAll(response);
      turns.push(turn);
    };
    await Promise.all([read(), read(), read()]);
    isOver = true;
    assert.equal(new Set(turns).size, 3, `read in turns ${turns}`);
  });
});

describe('memory', () => {
  it('stays bounded while a batch of a few kilobytes expands to 200 MiB, and its other records are read', async () => {
    const batches = [bomb(0, 200 * MIB), bomb(3, 200 * MIB)];
    assert.ok(batches.every(({ length }) => length < 10_000));
    const before = await collectGarbage();
    assert.ok(before <= 20 * MIB, 'the memory used to create the batches is freed');
    let peak = 0;
    const timer = setInterval(() => {
      peak = Math.max(peak, process.memoryUsage().arrayBuffers);
    }, 1);
    const read = await readAll(batches);
    clearInterval(timer);
    assert.deepEqual(read.offsets, [0, 2, 3, 5]);
    assert.deepEqual(read.ranges, [
      [1, 2, 'too_large'],
      [4, 5, 'too_large'],
    ]);
    assert.ok(peak > 0 && peak - before < 80 * MIB, `${Math.round((peak - before) / MIB)} MiB`);
  });

  it('is reserved before a record larger than a piece is created, and the record gets its own piece', async () => {
    const size = 900_000;
    const calls: string[] = [];
    const reserve = async (bytes: number) => {
      calls.push(`reserve ${bytes > size && bytes < size + 100}`);
    };
    const bytes = Buffer.concat([
      bomb(0, size),
      writeBatch({ baseOffset: 3, records: [v('next')] }),
    ]);
    const response = { partition: 0, fetchOffset: 0, endOffset: 4, aborted: [], bytes };
    for await (const { records } of readPieces(response, LIMITS, reserve))
      calls.push(`piece ${records.map(({ offset }) => offset)}`);
    assert.deepEqual(calls, ['piece 0', 'reserve true', 'piece 1', 'piece 2,3']);
  });

  it('of the decompressor is released if the reader stops early', async () => {
    const response = {
      partition: 0,
      fetchOffset: 0,
      endOffset: 3,
      aborted: [],
      bytes: bomb(0, 900_000),
    };
    let offset: number | undefined;
    for await (const { records } of readPieces(response, LIMITS)) {
      offset = records[0]?.offset;
      if (offset === 1) break;
    }
    assert.equal(offset, 1);
    assert.ok(!process.getActiveResourcesInfo().includes('ZSTD'));
  });
});

describe('a record above the largest size', () => {
  for (const codec of codecs) {
    it(`is skipped without being kept, and its neighbours are read: ${codec}`, async () => {
      const large = Buffer.alloc(3 * MIB, 'lorem ipsum ');
      const read = await readAll(
        writeBatch({
          codec,
          records: [v('before'), { value: large, timestampDelta: 5n }, v('behind')],
        }),
      );
      assert.deepEqual(
        [read.records.map(({ value }) => value?.toString()), read.ranges, read.nextOffset],
        [['before', 'behind'], [[1, 2, 'too_large']], 3],
      );
      assert.equal(read.unreadable[0]?.timestampMs, 1_700_000_000_005);
      assert.match(
        read.unreadable[0]?.poison.message ?? '',
        /\d{7} bytes, but at most 1048576 are allowed/,
      );
    });
  }
});

describe('a batch that expands to more than allowed', () => {
  for (const codec of codecs.filter((name) => name !== 'none')) {
    it(`is unreadable from the limit on: ${codec}`, async () => {
      const records = Array.from({ length: 100 }, (_, n) => ({
        value: Buffer.alloc(50_000, `${n} `),
      }));
      const read = await readAll(
        [writeBatch({ codec, records }), writeBatch({ baseOffset: 100, records: [{}] })],
        {
          limits: { maxBatchUnpackedBytes: 2 * MIB },
        },
      );
      const first = read.ranges[0]?.[0] ?? 0;
      assert.deepEqual(read.ranges, [[first, 100, 'unreadable_batch']]);
      assert.ok(first > 25 && first < 43, `from ${first}`);
      assert.deepEqual(read.offsets, [...Array(first).keys(), 100]);
      assert.match(read.unreadable[0]?.poison.message ?? '', /more than 2097152 bytes/);
    });
  }
});

describe('pieces', () => {
  it('of a million empty records stay small', async () => {
    const count = 1_000_000;
    const one = writeRecord({}).length;
    const packed = Buffer.alloc(count * (one + 3));
    let end = 0;
    for (let delta = 0; delta < count; delta++) {
      const offset = varint(delta);
      packed[end] = (5 + offset.length) * 2;
      offset.copy(packed, end + 3);
      packed.set([1, 1, 0], end + 3 + offset.length);
      end += 6 + offset.length;
    }
    const batch = writeBatch({
      attributes: 4,
      packed: zstdCompressSync(packed.subarray(0, end)),
      count,
      lastDelta: count - 1,
    });
    let position = 0;
    const response = { partition: 0, fetchOffset: 0, endOffset: count, aborted: [], bytes: batch };
    for await (const piece of readPieces(response, LIMITS)) {
      assert.equal(piece.unreadable, undefined);
      assert.ok(piece.records.length < 4_000);
      assert.equal(piece.records[0]?.offset, position);
      position = piece.nextOffset;
    }
    assert.equal(position, count);
  });

  it('have a bounded size and combine records of several batches', async () => {
    const batches = Array.from({ length: 40 }, (_, n) =>
      writeBatch({
        baseOffset: n * 5,
        codec: codecs[n % codecs.length] as Codec,
        records: Array(5).fill({ value: Buffer.alloc(1_000) }),
      }),
    );
    const { pieces, offsets, nextOffset } = await readAll(batches, {
      limits: { pieceBytes: 16_384 },
    });
    assert.deepEqual(offsets, [...Array(200).keys()]);
    assert.equal(nextOffset, 200);
    const sizes = pieces.map(({ records }: RecordPiece) => records.length);
    assert.ok(
      Math.max(...sizes) <= 16 && sizes.slice(0, -1).every((size) => size > 8),
      String(sizes),
    );
  });
});
