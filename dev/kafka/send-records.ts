/** Ordinary records for a producer of the connector's kafkajs, which sends whole batches (src/kafka/kafkajs/produce-patches.ts). */
import type { Producer } from 'kafkajs';
import { BufferPool } from '../../src/core/bytes/buffer-pool.ts';
import { EncodedRecords } from '../../src/core/bytes/encoded-records.ts';
import type { OutgoingRecord } from '../../src/core/record.ts';
import { OutgoingBatch } from '../../src/kafka/producer/outgoing-batch.ts';
import { sendBatch } from '../../src/kafka/producer/send-batch.ts';
import { planBatchesTo } from '../../src/kafka/producer/send-plan.ts';

const pool = new BufferPool(2 * 1024 * 1024);
/** For the texts of a request: names of test topics, clients and transactions are shorter. */
const ROOM_BYTES = 1_024;

/**
 * Writes the records to one partition, in order, in as many batches as it takes.
 * @param timestampMs of every record, since the epoch
 * @returns the offset of each
 */
export async function sendRecords(
  to: Pick<Producer, 'send'>,
  {
    topic,
    partition,
    timestampMs,
  }: { readonly topic: string; readonly partition: number; readonly timestampMs?: number },
  records: Iterable<OutgoingRecord>,
): Promise<number[]> {
  const encoded = EncodedRecords.of(records);
  const offsets: number[] = [];
  for (const planned of planBatchesTo(partition, encoded)) {
    const base = await sendBatch(
      to,
      topic,
      new OutgoingBatch(pool, encoded, planned, ROOM_BYTES, timestampMs),
    );
    for (let place = 0; place < planned.rows.length; place++) offsets.push(base + place);
  }
  return offsets;
}
