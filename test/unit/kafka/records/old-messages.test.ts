/** Formats 0 and 1, from logs older than Kafka 0.11, written by kafkajs: reported by their offsets. */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { describe, it } from 'node:test';
import { CODECS, type Codec, writeBatch } from '../../../support/kafka/record-batches.ts';
import { readAll } from '../../../support/records/read-pieces.ts';

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

const messages = (from: number, count: number): Message[] =>
  Array.from({ length: count }, (_, n) => ({
    offset: from + n,
    key: Buffer.from(`k${n}`),
    value: n === 1 ? null : Buffer.alloc(100, 'v'),
  }));

for (const magic of [0, 1]) {
  describe(`a log of message format ${magic}`, () => {
    it('is unreadable, with the remedy, and one of the current format after it is read', async () => {
      const all = messages(4, 3);
      const read = await readAll(
        [...all.map((one) => entry(magic, one)), writeBatch({ baseOffset: 7, records: [{}] })],
        { fetchOffset: 5 },
      );
      assert.deepEqual(
        [read.offsets, read.ranges, read.nextOffset],
        [
          [7],
          [
            [5, 6, 'unreadable_batch'],
            [6, 7, 'unreadable_batch'],
          ],
          8,
        ],
      );
      assert.match(
        read.unreadable[0]?.poison.message ?? '',
        /offset 5 \(format \d, none, .*older than Kafka 0\.11: write the topic again/,
      );
    });
  });
}
