/**
 * Cuts the records of a transaction into sends: one partition each, below the size that a broker takes. kafkajs splits
 * nothing by size, and a send that spans two brokers may duplicate when one of them fails.
 */
import type { IHeaders, Message } from 'kafkajs';
import { BATCH_OVERHEAD_BYTES, recordBytes } from '../core/outgoing-bytes.ts';
import type { OutgoingRecord, RecordHeaders } from '../core/record.ts';
import { partitionOf } from './partitioner.ts';

/** Below message.max.bytes (1,048,588 by default), with room for what the batch adds. */
export const MAX_SEND_BYTES = 900_000;

/** Most bytes of one send to a topic with this max.message.bytes; undefined when it is not known. */
export function sendBytesFor(maxMessageBytes: number | undefined): number {
  if (maxMessageBytes === undefined || !(maxMessageBytes > 0)) return MAX_SEND_BYTES;
  return Math.max(1, Math.min(MAX_SEND_BYTES, maxMessageBytes - BATCH_OVERHEAD_BYTES));
}

export interface PlannedSend {
  readonly partition: number;
  readonly messages: Message[];
}

/**
 * @param nullKeyPartition where records without a key go.
 * @returns sends in ascending order of partition; within a partition records keep their order. A record larger than
 * `maxBytes` travels alone: the topic may allow it.
 */
export function planSends(
  records: readonly OutgoingRecord[],
  partitions: number,
  nullKeyPartition: number,
  maxBytes: number = MAX_SEND_BYTES,
): PlannedSend[] {
  const byPartition = new Map<number, OutgoingRecord[]>();
  for (const given of records) {
    const record = encoded(given);
    const partition = record.key === null ? nullKeyPartition : partitionOf(record.key, partitions);
    const group = byPartition.get(partition);
    if (group === undefined) byPartition.set(partition, [record]);
    else group.push(record);
  }
  return [...byPartition.entries()]
    .sort(([a], [b]) => a - b)
    .flatMap(([partition, group]) => splitBySize(group, partition, maxBytes));
}

/** Sends for records that all go to one partition. */
export function splitBySize(
  records: readonly OutgoingRecord[],
  partition: number,
  maxBytes: number = MAX_SEND_BYTES,
): PlannedSend[] {
  const sends: PlannedSend[] = [];
  let messages: Message[] = [];
  let bytes = 0;
  for (const record of records) {
    const size = recordBytes(record);
    if (messages.length > 0 && bytes + size > maxBytes) {
      sends.push({ partition, messages });
      messages = [];
      bytes = 0;
    }
    messages.push({ key: record.key, value: record.value, partition, headers: writable(record.headers) });
    bytes += size;
  }
  if (messages.length > 0) sends.push({ partition, messages });
  return sends;
}

/** Texts become bytes once: kafkajs would measure each of them twice more before it writes them. */
function encoded(record: OutgoingRecord): OutgoingRecord {
  const { key, value, headers } = record;
  if (typeof key !== 'string' && typeof value !== 'string') return record;
  const bytes = (text: Buffer | string | null) => (typeof text === 'string' ? Buffer.from(text) : text);
  return { key: bytes(key), value: bytes(value), ...(headers === undefined ? {} : { headers }) };
}

/** kafkajs hands headers to the writer of records as they are (record-batch.ts), which takes lists; its types know only objects. */
function writable(headers: RecordHeaders = []): IHeaders {
  return headers as unknown as IHeaders;
}
