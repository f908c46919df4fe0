/** Copies of records and items that outlive the piece in which they were read. */
import type { ContentItem, Header, JsonPart, SourceRecord } from './record.ts';

/** Returns a copy of a record, because the original keeps its whole fetch response in memory. */
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

/** Returns a copy of an item, whose key, headers and parts are views of its record. */
export function detachedItem(item: ContentItem): ContentItem {
  const { key, headers, content, metadata, expected } = item;
  return {
    ...item,
    key: own(key),
    headers: headers.length === 0 ? headers : headers.map(ownHeader),
    content: ownPart(content),
    metadata: ownPart(metadata),
    expected: expected && ownPart(expected),
  };
}

function ownPart({ bytes, start, end, hasEscapes }: JsonPart): JsonPart {
  return { bytes: Buffer.from(bytes.subarray(start, end)), start: 0, end: end - start, hasEscapes };
}

const own = (bytes: Buffer | null): Buffer | null => (bytes === null ? null : Buffer.from(bytes));

const ownHeader = ([name, value]: Header): Header => [
  name,
  typeof value === 'string' ? value : own(value),
];
