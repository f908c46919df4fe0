/** Formats 0 and 1, from logs older than Kafka 0.11; written by kafkajs, whose encoder still knows them. */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { describe, it } from 'node:test';
import { CODECS, type Codec, writeBatch } from '../../../support/kafka/record-batches.ts';
import { readAll } from '../../../support/read-pieces.ts';

const load = createRequire(import.meta.url);
type Encode = (message: {
  key?: Buffer | null;
  value: Buffer | null;
  timestamp?: number;
  compression?: number;
}) => {
  buffer: Buffer;
};
const ENCODERS: Record<number, Encode> = {
  0: load('kafkajs/src/protocol/message/v0/index.js'),
  1: load('kafkajs/src/protocol/message/v1/index.js'),
};

interface Message {
  readonly offset: number;
  readonly key?: Buffer | null;
  readonly value: Buffer | null;
}

function entry(magic: number, { offset, ...message }: Message, codec: Codec = 'none'): Buffer {
  const body = ENCODERS[magic]?.({
    key: null,
    ...message,
    timestamp: 1_000 + offset,
    compression: CODECS[codec].code,
  }).buffer;
  const prefix = Buffer.alloc(12);
  prefix.writeBigInt64BE(BigInt(offset));
  prefix.writeInt32BE(body?.length ?? 0, 8);
  return Buffer.concat([prefix, body as Buffer]);
}

/** Messages compressed into the value of one, which has the offset of the last. Format 1 counts them from 0. */
function set(magic: number, codec: Codec, messages: readonly Message[]): Buffer {
  const first = messages[0]?.offset ?? 0;
  const inner = messages.map((message) =>
    entry(magic, { ...message, offset: magic === 1 ? message.offset - first : message.offset }),
  );
  return entry(
    magic,
    { offset: messages.at(-1)?.offset ?? 0, value: CODECS[codec].pack(Buffer.concat(inner)) },
    codec,
  );
}

const messages = (from: number, count: number): Message[] =>
  Array.from({ length: count }, (_, n) => ({
    offset: from + n,
    key: Buffer.from(`k${n}`),
    value: n === 1 ? null : Buffer.alloc(100, 'v'),
  }));

for (const magic of [0, 1]) {
  describe(`a log of message format ${magic}`, () => {
    it('is read, and one of the current format behind it', async () => {
      const all = messages(4, 3);
      const read = await readAll(
        [...all.map((one) => entry(magic, one)), writeBatch({ baseOffset: 7, records: [{}] })],
        {
          fetchOffset: 5,
        },
      );
      assert.deepEqual([read.offsets, read.ranges, read.nextOffset], [[5, 6, 7], [], 8]);
      assert.deepEqual(
        read.records
          .slice(0, 2)
          .map(({ key, value, timestampMs, headers }) => [key, value, timestampMs, headers]),
        all
          .slice(1)
          .map(({ key, value, offset }) => [key, value, magic === 1 ? 1_000 + offset : -1, []]),
      );
    });

    for (const codec of ['gzip', 'snappy', 'lz4'] as const) {
      it(`may hold sets compressed by ${codec}`, async () => {
        const read = await readAll(
          [set(magic, codec, messages(10, 5)), set(magic, codec, messages(15, 3))],
          { fetchOffset: 11 },
        );
        assert.deepEqual(
          [read.offsets, read.ranges, read.nextOffset],
          [[11, 12, 13, 14, 15, 16, 17], [], 18],
        );
        assert.deepEqual(read.records[4]?.key, Buffer.from('k0'));
      });
    }

    it('is admitted before a set larger than a piece is unpacked, and unreadable above the largest size', async () => {
      const admitted: number[] = [];
      const admit = async (bytes: number) => {
        admitted.push(bytes);
        return () => {};
      };
      const given = [
        set(magic, 'gzip', messages(0, 5_000)),
        set(magic, 'gzip', messages(5_000, 5)),
      ];
      const read = await readAll(given, { admit });
      assert.deepEqual([read.offsets.length, read.ranges, admitted], [5_005, [], [1024 * 1024]]);
      const bounded = await readAll(given, { limits: { maxRecordBytes: 300_000 } });
      assert.deepEqual(
        [bounded.offsets, bounded.ranges],
        [[5_000, 5_001, 5_002, 5_003, 5_004], [[0, 5_000, 'unreadable_batch']]],
      );
    });

    it('reports a set within a set, and a message that is cut off', async () => {
      const within = entry(
        magic,
        { offset: 3, value: CODECS.gzip.pack(set(magic, 'gzip', messages(0, 4))) },
        'gzip',
      );
      const short = entry(magic, { offset: 4, value: Buffer.alloc(50) });
      short.writeInt32BE(500, short.length - 54);
      const read = await readAll([within, short, entry(magic, { offset: 5, value: null })]);
      assert.deepEqual(read.offsets, [5]);
      assert.deepEqual(read.ranges, [
        [0, 4, 'unreadable_batch'],
        [4, 5, 'unreadable_batch'],
      ]);
    });
  });
}
