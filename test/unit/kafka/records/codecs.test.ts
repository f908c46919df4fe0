import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { constants, gzipSync, zstdCompressSync } from 'node:zlib';
import { readPieces } from '../../../../src/kafka/records/index.ts';
import {
  CODECS,
  type RawBatch,
  writeBatch,
  writeRecord,
  writeRecords,
} from '../../../support/kafka/record-batches.ts';
import { compressSnappy } from '../../../support/kafka/snappy.ts';
import { LIMITS, readAll } from '../../../support/records/read-pieces.ts';

const GARBAGE = Buffer.from('trailing garbage');
const RECORDS = Array.from({ length: 50 }, (_, n) => ({
  key: Buffer.from(`k${n}`),
  value: Buffer.from(`value ${n} `.repeat(30)),
}));
const LARGE = Array.from({ length: 50 }, (_, n) => ({ value: Buffer.alloc(20_000, `${n} `) }));
const OFFSETS = RECORDS.map((_, n) => n);
const halves = (records: RawBatch['records'] = RECORDS) => {
  const bytes = writeRecords(records);
  return [bytes.subarray(0, 1_001), bytes.subarray(1_001)] as [Buffer, Buffer];
};
const packedBatch = (attributes: number, packed: Buffer, given: RawBatch = {}) =>
  writeBatch({ attributes, packed, count: 50, lastDelta: 49, ...given });

describe('a compressed batch', () => {
  for (const [codec, { code, pack }] of Object.entries(CODECS)) {
    // Node reports an error for bytes after gzip data. No known producer writes such bytes.
    const sizes = codec === 'gzip' ? {} : { small: RECORDS, large: LARGE };
    for (const [size, records] of Object.entries(sizes)) {
      it(`of ${codec} may have bytes after its records, ${size}`, async () => {
        const read = await readAll(
          packedBatch(code, Buffer.concat([pack(writeRecords(records)), GARBAGE])),
        );
        assert.deepEqual([read.offsets, read.ranges], [OFFSETS, []]);
      });
    }

    it(`of ${codec} that lacks its last bytes yields the complete records and reports the rest`, async () => {
      const packed = pack(writeRecords(LARGE));
      const read = await readAll([
        packedBatch(code, packed.subarray(0, -20)),
        writeBatch({ baseOffset: 50, records: [{}] }),
      ]);
      const first = read.ranges[0]?.[0] ?? -1;
      assert.ok(first >= 0 && first <= 49, `unreadable from ${first}`);
      assert.deepEqual(read.ranges, [[first, 50, 'unreadable_batch']]);
      assert.deepEqual(read.offsets, [...OFFSETS.slice(0, first), 50]);
    });
  }

  for (const [name, records] of Object.entries({ small: RECORDS, large: LARGE })) {
    it(`of gzip may consist of two members, ${name}`, async () => {
      const [first, second] = halves(records);
      assert.deepEqual(
        (await readAll(packedBatch(1, Buffer.concat([gzipSync(first), gzipSync(second)])))).offsets,
        OFFSETS,
      );
    });

    it(`of gzip with bytes after its data yields each offset once, ${name}`, async () => {
      const packed = Buffer.concat([gzipSync(writeRecords(records)), GARBAGE]);
      const read = await readAll(packedBatch(1, packed));
      const first = read.ranges[0]?.[0] ?? 50;
      assert.deepEqual(read.offsets, OFFSETS.slice(0, first));
      assert.deepEqual(read.ranges, first === 50 ? [] : [[first, 50, 'unreadable_batch']]);
    });

    it(`of zstd may consist of two frames, ${name}`, async () => {
      const [first, second] = halves(records);
      const packed = Buffer.concat([zstdCompressSync(first), zstdCompressSync(second), GARBAGE]);
      assert.deepEqual((await readAll(packedBatch(4, packed))).offsets, OFFSETS);
    });

    it(`of Snappy may contain a second xerial header, ${name}`, async () => {
      const [first, second] = halves(records);
      const packed = Buffer.concat([compressSnappy(first), compressSnappy(second), GARBAGE]);
      assert.deepEqual((await readAll(packedBatch(2, packed))).offsets, OFFSETS);
    });
  }

  for (const [log, sideBySide] of [
    [27, 1],
    [25, 1],
    [24, 3],
  ] as const) {
    it(`of zstd may have a window of 2^${log} bytes: the process unpacks at most ${sideBySide} at a time`, async () => {
      const events: string[] = [];
      const drain = async (name: string) => {
        let records = 0;
        for await (const piece of openWide(log)) {
          records += piece.records.length;
          events.push(`${name} continues`);
        }
        events.push(`${name} ends`);
        return records;
      };
      const names = Array.from({ length: sideBySide }, (_, n) => `first ${n}`);
      assert.deepEqual(
        await Promise.all([...names, 'last'].map(drain)),
        Array(sideBySide + 1).fill(40),
      );
      const ends = names.map((name) => events.indexOf(`${name} ends`));
      assert.ok(events.indexOf('last continues') > Math.min(...ends), events.join(', '));
      for (const name of names)
        assert.ok(events.indexOf(`${name} continues`) < Math.min(...ends), events.join(', '));
    });
  }

  it('of zstd with a large window does not block other batches while its reader pauses, and is read to its end later', async () => {
    const [first, second] = [openWide(), openWide()];
    const values: (string | undefined)[] = [];
    const rest = async (reader: ReturnType<typeof openWide>) => {
      let records = 0;
      for await (const piece of reader) {
        for (const { value } of piece.records) values.push(value?.toString('latin1', 0, 3));
        records += piece.records.length;
      }
      return records;
    };
    for (let records = 0; records < 36; ) records += await pull(first);
    // The reader of the first batch continues only after the second one has ended.
    assert.equal(await rest(second), 40);
    values.length = 0;
    assert.equal(await rest(first), 4);
    assert.deepEqual(values, ['r36', 'r37', 'r38', 'r39']);
  });

  it('of zstd with a window above 128 MiB is refused', async () => {
    const params = {
      [constants.ZSTD_c_windowLog]: 28,
      [constants.ZSTD_c_enableLongDistanceMatching]: 1,
    };
    const read = await readAll(
      packedBatch(4, withWindow(zstdCompressSync(writeRecords(LARGE), { params }), 28)),
    );
    assert.deepEqual([read.offsets, read.ranges], [[], [[0, 50, 'unreadable_batch']]]);
    assert.match(read.unreadable[0]?.poison.message ?? '', /requires too much memory/);
  });

  for (const code of [5, 6, 7]) {
    it(`of the unknown codec ${code} is reported with its offsets, and its neighbours are read`, async () => {
      const one = (baseOffset: number) => writeBatch({ baseOffset, records: [{}] });
      const read = await readAll(
        [one(9), packedBatch(code, GARBAGE, { baseOffset: 10 }), one(60)],
        { fetchOffset: 9 },
      );
      assert.deepEqual(read.offsets, [9, 60]);
      assert.deepEqual(read.ranges, [[10, 60, 'unreadable_batch']]);
      assert.match(read.unreadable[0]?.poison.message ?? '', new RegExp(`codec ${code}`));
      assert.equal(read.nextOffset, 61);
    });
  }
});

/** Returns a reader of 40 records of 1 MiB in one frame. */
function openWide(windowLog = 27) {
  const value = (delta: number) => Buffer.alloc(2 ** 20 - 20, `r${delta} `);
  const contents = Buffer.concat(
    [...Array(40).keys()].map((delta) => writeRecord({ delta, value: value(delta) })),
  );
  const packed = withWindow(zstdCompressSync(contents), windowLog);
  const bytes = writeBatch({ attributes: 4, packed, count: 40, lastDelta: 39 });
  return readPieces({ partition: 3, fetchOffset: 0, endOffset: 40, aborted: [], bytes }, LIMITS);
}

const pull = async (reader: ReturnType<typeof openWide>) =>
  (await reader.next()).value?.records.length ?? 0;

/** Replaces the frame header: no single segment, no content size, and this window. */
function withWindow(frame: Buffer, log: number): Buffer {
  const descriptor = frame.readUInt8(4);
  const single = (descriptor & 0x20) !== 0;
  const sizeBytes = [single ? 1 : 0, 2, 4, 8][descriptor >> 6] as number;
  const body = frame.subarray(5 + (single ? 0 : 1) + sizeBytes);
  return Buffer.concat([frame.subarray(0, 4), Buffer.from([0, (log - 10) << 3]), body]);
}
