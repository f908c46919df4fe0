/** Records of a benchmark. They are written as prebuilt batches, because a producer library would only cost time. */

import { varintSize, writeVarint } from '../../packages/client/src/base/varint.ts';
import { sizeOfRecord, writeRecord } from '../../src/core/bytes/record-bytes.ts';
import type { OutgoingRecord } from '../../src/core/record.ts';
import { eventually } from '../support/eventually.ts';
import { BatchRefused, RawProducer } from '../support/kafka/raw-producer.ts';
import { CODECS, type Codec, rawBatch } from '../support/kafka/record-batches.ts';
import type { RecordOf } from './events.ts';

export interface Load {
  readonly records: number;
  readonly partitions: number;
  readonly codec: Codec;
  readonly record: RecordOf;
}

const BATCH_RECORDS = 1_000;
const BATCH_BYTES = 400_000;

/** Writes all records. */
export async function writeAll(
  brokers: readonly string[],
  topic: string,
  load: Load,
): Promise<void> {
  const producer = new RawProducer(brokers);
  try {
    await write(producer, topic, load, 0, load.records);
  } finally {
    await producer.close();
  }
}

/** Writes the records [from, to), round robin over the partitions. */
export async function write(
  producer: RawProducer,
  topic: string,
  load: Load,
  from: number,
  to: number,
): Promise<void> {
  const partitions = Array.from({ length: load.partitions }, (_, partition) => partition);
  await Promise.all(
    partitions.map(async (partition) => {
      let batch: OutgoingRecord[] = [];
      let bytes = 0;
      const first = from + ((partition - from + load.partitions * 1e9) % load.partitions);
      for (let n = first; n < to; n += load.partitions) {
        const record = load.record(n);
        batch.push(record);
        bytes += sizeOfRecord(record);
        if (batch.length < BATCH_RECORDS && bytes < BATCH_BYTES && n + load.partitions < to)
          continue;
        await writePatiently(producer, topic, partition, encode(batch, load.codec));
        [batch, bytes] = [[], 0];
      }
    }),
  );
}

/** Writes a batch. Retries, since a broker may have just become the leader of a new partition without knowing it yet. */
async function writePatiently(
  producer: RawProducer,
  topic: string,
  partition: number,
  batch: Buffer,
): Promise<void> {
  await eventually(`${topic}-${partition} accepts a batch`, async () => {
    try {
      await producer.write(topic, partition, batch);
      return true;
    } catch (error) {
      if (error instanceof BatchRefused && !error.isFinal) return false;
      throw error;
    }
  });
}

/** Encodes a record batch with the current time. */
function encode(records: readonly OutgoingRecord[], codec: Codec): Buffer {
  const { code, pack } = CODECS[codec];
  const bodies = records.map((record, delta) => {
    const size = 2 + varintSize(delta) + sizeOfRecord(record);
    const bytes = Buffer.allocUnsafe(varintSize(size) + size);
    let at = writeVarint(bytes, size, 0);
    bytes[at++] = 0;
    at = writeVarint(bytes, 0, at);
    writeRecord(record, bytes, writeVarint(bytes, delta, at));
    return bytes;
  });
  return rawBatch({
    packed: pack(Buffer.concat(bodies)),
    attributes: code,
    count: records.length,
    lastDelta: records.length - 1,
  });
}
