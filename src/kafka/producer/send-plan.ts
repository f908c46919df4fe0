/**
 * Planned sends of a transaction. Each goes to one partition and stays below the broker's maximum
 * size. A send to two brokers could duplicate records if one of the brokers fails.
 */
import {
  BATCH_HEADER_BYTES,
  type EncodedRecords,
  sizeInBatch,
} from '../../core/bytes/encoded-records.ts';
import type { PlannedBatch } from './outgoing-batch.ts';

// Partition of a key, computed as in Java's default partitioner.

/** Returns Kafka's murmur2 (org.apache.kafka.common.utils.Utils.murmur2) of bytes[from, to), as a signed 32-bit integer. */
export function murmur2(bytes: Buffer, from = 0, to = bytes.length): number {
  const M = 0x5bd1e995;
  let hash = 0x9747b28c ^ (to - from);
  let at = from;
  for (; at + 4 <= to; at += 4) {
    let k =
      (bytes[at] as number) |
      ((bytes[at + 1] as number) << 8) |
      ((bytes[at + 2] as number) << 16) |
      ((bytes[at + 3] as number) << 24);
    k = Math.imul(k, M);
    k = Math.imul(k ^ (k >>> 24), M);
    hash = Math.imul(hash, M) ^ k;
  }
  const rest = to - at;
  if (rest === 3) hash ^= (bytes[at + 2] as number) << 16;
  if (rest >= 2) hash ^= (bytes[at + 1] as number) << 8;
  if (rest >= 1) hash = Math.imul(hash ^ (bytes[at] as number), M);
  hash = Math.imul(hash ^ (hash >>> 13), M);
  return (hash ^ (hash >>> 15)) | 0;
}

/** Returns the partition of a key with this hash among `partitions`. */
export const partitionOfHash = (hash: number, partitions: number): number =>
  (hash & 0x7fffffff) % partitions;

/** Maximum size of a send: below message.max.bytes (1,048,588 by default), and below 1 MiB with the request's head. */
export const MAX_SEND_BYTES = 900_000;

/** Returns the maximum size of one batch. @param maxMessageBytes setting of the topic, undefined if unknown */
export function sendBytesFor(maxMessageBytes: number | undefined): number {
  return Math.min(MAX_SEND_BYTES, maxMessageBytes || MAX_SEND_BYTES);
}

/**
 * Plans the sends of records by key, in ascending order of partitions. Records of a partition keep
 * their order. A record larger than `maxBytes` is sent alone, because the topic may allow it.
 * @param nullKeyPartition partition of records without a key
 */
export function planBatches(
  records: EncodedRecords,
  partitions: number,
  nullKeyPartition: number,
  maxBytes: number = MAX_SEND_BYTES,
): PlannedBatch[] {
  // Without this check, the records would be lost without an error.
  if (partitions === 0) throw new RangeError('a topic has no partitions');
  const rowsOf = Array.from({ length: partitions }, (): number[] => []);
  for (let row = 0; row < records.length; row++) {
    const hash = records.hashKey(row, murmur2);
    const partition = hash === undefined ? nullKeyPartition : partitionOfHash(hash, partitions);
    rowsOf[partition]?.push(row);
  }
  return rowsOf.flatMap((rows, partition) => splitBySize(records, rows, partition, maxBytes));
}

/** Plans the sends of records to one partition. */
export function planBatchesTo(
  partition: number,
  records: EncodedRecords,
  maxBytes: number = MAX_SEND_BYTES,
): PlannedBatch[] {
  return splitBySize(records, [...Array(records.length).keys()], partition, maxBytes);
}

function splitBySize(
  records: EncodedRecords,
  rows: readonly number[],
  partition: number,
  maxBytes: number,
): PlannedBatch[] {
  const plan: PlannedBatch[] = [];
  let from = 0;
  let bytes = BATCH_HEADER_BYTES;
  for (let at = 0; at < rows.length; at++) {
    const contentBytes = records.size(rows[at] as number);
    let size = sizeInBatch(contentBytes, at - from);
    if (at > from && bytes + size > maxBytes) {
      plan.push({ partition, rows: rows.slice(from, at), bytes });
      from = at;
      bytes = BATCH_HEADER_BYTES;
      size = sizeInBatch(contentBytes, 0);
    }
    bytes += size;
  }
  if (rows.length > from) plan.push({ partition, rows: rows.slice(from), bytes });
  return plan;
}
