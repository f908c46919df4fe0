/** From what kafkajs decodes to what the engine reads, with as little work per record as can be. */
import type { FetchedBatch, Stream } from '../core/ports/kafka.ts';
import { NO_HEADERS, type SourceRecord } from '../core/record.ts';
import type { PartitionFetch } from './partition-fetch.ts';
import { listed } from './record-batch.ts';

/** @throws RangeError for an offset that a number does not hold exactly (ADR 0002). */
export function toOffset(text: string): number {
  const offset = Number(text);
  if (!Number.isSafeInteger(offset) || offset < 0) throw new RangeError(`offset ${text} is not between 0 and 2^53 - 1`);
  return offset;
}

/**
 * The records up to and including `last`. Key, value and header values stay slices of the fetch response: who keeps one of
 * them for long should copy it, or it keeps the whole response in memory.
 */
export function toRecords(fetch: PartitionFetch, last: number = Number.POSITIVE_INFINITY): SourceRecord[] {
  const { partition, messages } = fetch;
  const records: SourceRecord[] = [];
  for (const { offset: text, timestamp, key, value, headers } of messages) {
    const offset = Number(text);
    if (offset > last) break;
    records.push({
      partition,
      offset,
      timestampMs: Number(timestamp),
      key,
      value,
      headers: headers === undefined ? NO_HEADERS : listed(headers),
    });
  }
  return records;
}

/** @throws RangeError when the log has grown past 2^53. */
export function toFetchedBatch(stream: Stream, fetch: PartitionFetch): FetchedBatch {
  if (!Number.isSafeInteger(fetch.nextOffset)) {
    throw new RangeError(`${fetch.topic}-${fetch.partition} has an offset above 2^53 - 1`);
  }
  let bytes = 0;
  for (const { key, value } of fetch.messages) bytes += (key?.length ?? 0) + (value?.length ?? 0);
  return {
    stream,
    partition: fetch.partition,
    fetchOffset: fetch.fetchOffset,
    nextOffset: fetch.nextOffset,
    endOffset: fetch.endOffset,
    bytes,
    pieces: async function* () {
      yield { records: toRecords(fetch), unreadable: undefined, nextOffset: fetch.nextOffset };
    },
  };
}
