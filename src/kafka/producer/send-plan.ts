/**
 * Plan of the sends of a transaction: one partition each, below the size that a broker takes. Nothing else splits by size, and a
 * send that spans two brokers may duplicate when one of them fails.
 */

import { BATCH_HEADER_BYTES, sizeInBatch } from '../../core/bytes/batch-size.ts';
import type { EncodedRecords } from '../../core/bytes/encoded-records.ts';
import type { PlannedBatch } from './outgoing-batch.ts';
import { murmur2, partitionOfHash } from './partitioner.ts';

/** Below message.max.bytes (1,048,588 by default), and with the head of a request it fits a buffer of 1 MiB. */
export const MAX_SEND_BYTES = 900_000;

/** Returns the most bytes of one batch. @param maxMessageBytes of its topic; undefined when it is not known */
export function sendBytesFor(maxMessageBytes: number | undefined): number {
  if (maxMessageBytes === undefined || !(maxMessageBytes > 0)) return MAX_SEND_BYTES;
  return Math.min(MAX_SEND_BYTES, maxMessageBytes);
}

/**
 * @param nullKeyPartition where records without a key go.
 * @returns one batch for each send, in ascending order of partition; within a partition records keep their order. A record larger than
 * `maxBytes` travels alone: the topic may allow it.
 */
export function planBatches(
  records: EncodedRecords,
  partitions: number,
  nullKeyPartition: number,
  maxBytes: number = MAX_SEND_BYTES,
): PlannedBatch[] {
  const partitionOf = new Int32Array(records.length);
  /** One past the last place of each partition among all rows, in the end. */
  const ends = new Int32Array(partitions);
  for (let row = 0; row < records.length; row++) {
    const hash = records.hashKey(row, murmur2);
    const partition = hash === undefined ? nullKeyPartition : partitionOfHash(hash, partitions);
    partitionOf[row] = partition;
    ends[partition] = (ends[partition] as number) + 1;
  }
  let start = 0;
  for (let partition = 0; partition < partitions; partition++) {
    const count = ends[partition] as number;
    ends[partition] = start;
    start += count;
  }
  const rows = new Int32Array(records.length);
  for (let row = 0; row < records.length; row++) {
    const partition = partitionOf[row] as number;
    const place = ends[partition] as number;
    rows[place] = row;
    ends[partition] = place + 1;
  }
  const plan: PlannedBatch[] = [];
  for (let partition = 0, from = 0; partition < partitions; partition++) {
    const to = ends[partition] as number;
    if (to > from) splitBySize(records, rows.subarray(from, to), partition, maxBytes, plan);
    from = to;
  }
  return plan;
}

/** One batch for each send of records that all go to one partition. A record larger than `maxBytes` travels alone. */
export function planBatchesTo(
  partition: number,
  records: EncodedRecords,
  maxBytes: number = MAX_SEND_BYTES,
): PlannedBatch[] {
  const rows = Int32Array.from({ length: records.length }, (_, row) => row);
  return splitBySize(records, rows, partition, maxBytes, []);
}

function splitBySize(
  records: EncodedRecords,
  rows: Int32Array,
  partition: number,
  maxBytes: number,
  plan: PlannedBatch[],
): PlannedBatch[] {
  let from = 0;
  let bytes = BATCH_HEADER_BYTES;
  for (let at = 0; at < rows.length; at++) {
    const contentBytes = records.size(rows[at] as number);
    let size = sizeInBatch(contentBytes, at - from);
    if (at > from && bytes + size > maxBytes) {
      plan.push({ partition, rows: rows.subarray(from, at), bytes });
      from = at;
      bytes = BATCH_HEADER_BYTES;
      size = sizeInBatch(contentBytes, 0);
    }
    bytes += size;
  }
  if (rows.length > from) plan.push({ partition, rows: rows.subarray(from), bytes });
  return plan;
}
