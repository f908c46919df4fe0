import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { SourceRecord } from '../../../src/core/record.ts';
import { anyCharacter } from '../../support/any-character.ts';
import {
  CODECS,
  type Codec,
  LOG_APPEND_TIME,
  seal,
  writeBatch,
} from '../../support/kafka/record-batches.ts';
import { END, nextOffset, type Read, readAll } from '../../support/records/read-pieces.ts';

// Unpatched kafkajs, for a comparison.
const load = createRequire(import.meta.url);
const Decoder = load('kafkajs/src/protocol/decoder.js');
const decodeBatch = load('kafkajs/src/protocol/recordBatch/v0/decoder.js');
const encodeKafkaJsRecord = load('kafkajs/src/protocol/recordBatch/record/v0/index.js');
const encodeKafkaJsBatch = load('kafkajs/src/protocol/recordBatch/v0/index.js').RecordBatch;

/** Bytes with and without runs and repetitions. */
const bytes: fc.Arbitrary<Buffer> = fc.oneof(
  { weight: 9, arbitrary: fc.uint8Array({ maxLength: 60 }).map((array) => Buffer.from(array)) },
  fc
    .tuple(fc.uint8Array({ minLength: 1, maxLength: 20 }), fc.integer({ min: 1, max: 1_500 }))
    .map(([part, times]) => Buffer.concat(Array.from({ length: times }, () => Buffer.from(part)))),
);
const maybe = fc.option(bytes);
const name = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 10 }),
  fc.constantFrom('__proto__', 'toString', 'constructor'),
);
const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });

interface Drawn {
  readonly record: Pick<SourceRecord, 'key' | 'value' | 'headers'> & {
    readonly timestampDelta: bigint;
  };
  /** Number of unused offsets before the batch. */
  readonly gap: number;
}

const drawn: fc.Arbitrary<Drawn> = fc.record({
  record: fc.record({
    timestampDelta: fc.oneof(fc.bigInt({ min: -5n, max: 100_000n }), int64),
    key: maybe,
    value: maybe,
    headers: fc.array(fc.tuple(name, maybe), { maxLength: 3 }),
  }),
  gap: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, fc.nat({ max: 2 ** 28 })),
});

const codec = fc.constantFrom(...(Object.keys(CODECS) as Codec[]));

interface Written {
  readonly bytes: Buffer;
  readonly expected: SourceRecord[];
  /** One past the last offset of the batch. */
  readonly end: number;
}

const batches: fc.Arbitrary<Written[]> = fc
  .array(
    fc.record({
      codec,
      list: fc.array(drawn, { maxLength: 8 }),
      gapBefore: fc.nat({ max: 100 }),
      gapBehind: fc.nat({ max: 3 }),
      baseTimestamp: int64,
      maxTimestamp: int64,
      append: fc.boolean(),
    }),
    { minLength: 1, maxLength: 4 },
  )
  .map((all) => {
    let position = 0;
    return all.map(({ codec, list, gapBefore, gapBehind, append, ...times }) => {
      const baseOffset = position + gapBefore;
      let delta = -1;
      const records = list.map(({ record, gap }) => {
        delta += 1 + gap;
        return { ...record, delta };
      });
      const lastDelta = Math.max(0, delta + gapBehind);
      position = baseOffset + lastDelta + 1;
      const attributes = CODECS[codec].code | (append ? LOG_APPEND_TIME : 0);
      const expected = records.map(({ delta, timestampDelta, key, value, headers }) => ({
        partition: 3,
        offset: baseOffset + delta,
        timestampMs: Number(
          append
            ? times.maxTimestamp
            : BigInt.asIntN(64, times.baseTimestamp + (timestampDelta ?? 0n)),
        ),
        key: key ?? null,
        value: value ?? null,
        headers: headers as SourceRecord['headers'],
      }));
      return {
        bytes: writeBatch({ baseOffset, codec, records, lastDelta, attributes, ...times }),
        expected,
        end: position,
      };
    });
  });

const limits = fc.record({
  pieceBytes: fc.oneof(fc.integer({ min: 1, max: 2_000 }), fc.constant(256 * 1024)),
});
const concat = (all: readonly { readonly bytes: Buffer }[]) =>
  Buffer.concat(all.map((one) => one.bytes));
const allOf = (all: readonly Written[]) => all.flatMap(({ expected }) => expected);

/** Asserts for any bytes: offsets ascend, each occurs once, and the last piece ends at the next offset of the headers. */
function assertOrderly(read: Read, given: Buffer, fetchOffset: number): void {
  let position = fetchOffset;
  for (const { records, unreadable, nextOffset } of read.pieces) {
    for (const { offset } of records) {
      assert.ok(offset >= position, `${offset} comes after ${position}`);
      position = offset + 1;
    }
    if (unreadable !== undefined) {
      assert.ok(
        unreadable.from >= position && unreadable.to > unreadable.from,
        `${unreadable.from} comes after ${position}`,
      );
      position = unreadable.to;
    }
    assert.ok(nextOffset >= position);
    position = nextOffset;
  }
  assert.equal(position, nextOffset({ bytes: given, fetchOffset, endOffset: END }));
}

describe('the record reader', () => {
  it('returns the written records, from any offset on and in pieces of any size', async () => {
    await fc.assert(
      fc.asyncProperty(batches, limits, fc.nat({ max: 300 }), async (all, limits, fetchOffset) => {
        const given = concat(all);
        const read = await readAll(given, { limits, fetchOffset });
        assertOrderly(read, given, fetchOffset);
        assert.deepEqual(read.ranges, []);
        assert.deepEqual(
          read.records,
          allOf(all).filter(({ offset }) => offset >= fetchOffset),
        );
      }),
      { numRuns: 200 },
    );
  });

  it('reads records that kafkajs wrote, with the same result as kafkajs', async () => {
    const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 });
    const record = fc.record({
      key: fc.option(text),
      value: fc.option(text),
      timestampDelta: fc.nat(),
      headers: fc.dictionary(
        fc.string({ minLength: 5, maxLength: 9, unit: fc.constantFrom('x', 'y', 'ö') }),
        text,
        {
          noNullPrototype: true,
        },
      ),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(record, { minLength: 1, maxLength: 20 }),
        fc.boolean(),
        async (records, gzip) => {
          const { buffer } = await encodeKafkaJsBatch({
            compression: gzip ? 1 : 0,
            firstOffset: 70,
            firstTimestamp: 1_700_000_000_000,
            maxTimestamp: 1_700_000_000_500,
            lastOffsetDelta: records.length - 1,
            records: records.map((fields, offsetDelta) =>
              encodeKafkaJsRecord({ ...fields, offsetDelta }),
            ),
          });
          const theirs: {
            records: {
              offset: string;
              timestamp: string;
              key: Buffer;
              value: Buffer;
              headers: object;
            }[];
          } = await decodeBatch(new Decoder(buffer));
          const { records: ours } = await readAll(Buffer.from(buffer));
          assert.deepEqual(
            ours.map(({ offset, timestampMs, key, value, headers }) => ({
              ...{ offset: String(offset), timestamp: String(timestampMs) },
              ...{ key, value, headers: Object.fromEntries(headers) },
            })),
            theirs.records.map(({ offset, timestamp, key, value, headers }) => ({
              offset,
              timestamp,
              key,
              value,
              headers,
            })),
          );
        },
      ),
      { numRuns: 60 },
    );
  });

  it('reads the complete batches of a response that is cut off anywhere', async () => {
    await fc.assert(
      fc.asyncProperty(batches, fc.nat(), async (all, at) => {
        const whole = concat(all);
        const cut = whole.subarray(0, at % (whole.length + 1));
        let size = 0;
        const complete = all.filter(({ bytes }) => {
          size += bytes.length;
          return size <= cut.length;
        });
        const read = await readAll(cut);
        assert.deepEqual([read.records, read.ranges], [allOf(complete), []]);
        assert.equal(read.nextOffset, complete.at(-1)?.end);
      }),
      { numRuns: 100 },
    );
  });

  it('reports the batch with a changed byte, and reads all others', async () => {
    await fc.assert(
      fc.asyncProperty(
        batches,
        fc.nat(),
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        async (all, which, at, change) => {
          const changed = which % all.length;
          const { bytes } = all[changed] as Written;
          const place = 17 + (at % (bytes.length - 17));
          bytes[place] = (bytes[place] as number) ^ change;
          const given = concat(all);
          const read = await readAll(given, { endOffset: (all.at(-1) as Written).end });
          assert.deepEqual(read.records, allOf(all.filter((_, n) => n !== changed)));
          assert.equal(read.ranges.length, 1);
          assert.equal(
            read.ranges[0]?.[0],
            given.length > 0 ? Number(bytes.readBigInt64BE(0)) : undefined,
          );
        },
      ),
      { numRuns: 100 },
    );
  });

  it('returns each offset once, as a record or as unreadable, after a change of any compressed byte', async () => {
    const dense = fc
      .array(drawn, { minLength: 1, maxLength: 8 })
      .map((list) => list.map(({ record }) => record));
    await fc.assert(
      fc.asyncProperty(
        dense,
        codec,
        limits,
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        async (records, codec, limits, at, change) => {
          const batch = writeBatch({ codec, records });
          const place = 61 + (at % (batch.length - 61));
          batch[place] = (batch[place] as number) ^ change;
          const behind = writeBatch({ baseOffset: records.length, records: [{}] });
          const given = Buffer.concat([seal(batch), behind]);
          const read = await readAll(given, { limits });
          assertOrderly(read, given, 0);
          const told = [
            ...read.offsets,
            ...read.ranges.flatMap(([from, to]) =>
              Array.from({ length: to - from }, (_, n) => from + n),
            ),
          ];
          assert.deepEqual(
            told.sort((a, b) => a - b),
            [...records.keys(), records.length],
          );
        },
      ),
      { numRuns: 400 },
    );
  });

  it('accepts any bytes as a response', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ maxLength: 400 }),
        fc.integer({ min: -2, max: 4 }),
        fc.boolean(),
        async (array, magic, placed) => {
          const given = Buffer.from(array);
          if (given.length > 16) {
            given.writeInt8(magic, 16);
            if (placed) given.fill(0, 0, 6);
          }
          assertOrderly(await readAll(given), given, 0);
        },
      ),
      { numRuns: 500 },
    );
  });
});
