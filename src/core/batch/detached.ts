/** Copies of records and items that are kept beyond the piece that they were read in. */
import type { ContentItem, Header, SourceRecord } from '../record.ts';

/** Copy of a record: as it was read, it keeps a whole fetched response in memory, uncounted. */
export function detached({
  partition,
  offset,
  timestampMs,
  key,
  value,
  headers,
}: SourceRecord): SourceRecord {
  return {
    partition,
    offset,
    timestampMs,
    key: own(key),
    value: own(value),
    headers: headers.map(ownHeader),
  };
}

/** Copy of an item, whose key and headers are views of its record. */
export function detachedItem(item: ContentItem): ContentItem {
  const { key, headers } = item;
  return {
    ...item,
    key: own(key),
    headers: headers.length === 0 ? headers : headers.map(ownHeader),
  };
}

const own = (bytes: Buffer | null): Buffer | null => (bytes === null ? null : Buffer.from(bytes));

const ownHeader = ([name, value]: Header): Header => [
  name,
  typeof value === 'string' ? value : own(value),
];
