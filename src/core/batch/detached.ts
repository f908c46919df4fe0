/** Copies of what is kept beyond the piece that it was read in. */
import type { ContentItem, Header, SourceRecord } from '../record.ts';

/** Copy of a record that is to be kept: as it was read it holds a whole fetched response, a megabyte that no budget counts. */
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

/** An item to be kept: its key and headers are views of its record. */
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
