/** Items and their rows in an upload. */
import assert from 'node:assert/strict';
import { jsonTextOf } from '../../../../packages/client/src/base/json/json-text.ts';
import { BufferPool } from '../../../../src/core/bytes/buffer-pool.ts';
import type { JobContext } from '../../../../src/core/ports/pipeline-kind.ts';
import type { ContentItem, JsonPart } from '../../../../src/core/record.ts';
import { CsvRows, type UploadOptions } from '../../../../src/kinds/review/csv-rows.ts';
import { EventPart } from '../../../../src/kinds/review/event-part.ts';
import { RowSeal } from '../../../../src/kinds/review/row-seal.ts';

export const ROW_KEY = 'a2V5IG9mIHRoZSBiYXRjaA';

export const JOB: JobContext = {
  jobId: 'job-1',
  remoteId: 'batch-1',
  type: 'post',
  attempt: 1,
  rowKey: ROW_KEY,
  decidedAtMs: Date.UTC(2026, 0, 2, 3, 4, 5, 678),
};

/** Parts of an item as values. Metadata that is a string is used as JSON. */
export interface ItemParts extends Omit<Partial<ContentItem>, 'content' | 'metadata' | 'expected'> {
  readonly content?: string;
  readonly metadata?: object | string;
  readonly expected?: string | undefined;
}

export function contentItem(parts: ItemParts = {}): ContentItem {
  const { content = 'hello', metadata = {}, expected, ...over } = parts;
  return {
    partition: 3,
    offset: 41,
    timestampMs: Date.UTC(2026, 0, 1),
    key: Buffer.from('user-1'),
    headers: [],
    type: 'post',
    content: jsonTextOf(content),
    metadata: typeof metadata === 'string' ? writtenPart(metadata) : jsonTextOf(metadata),
    expected: expected === undefined ? undefined : jsonTextOf(expected),
    replay: 0,
    bytes: 500,
    ...over,
  };
}

/** Returns JSON text that a producer wrote as a part of an event. */
function writtenPart(text: string): JsonPart {
  const bytes = Buffer.from(text);
  return { bytes, start: 0, end: bytes.length, hasEscapes: text.includes('\\') };
}

/** Returns the reference of an item as in an upload. */
export function referenceOf(
  item: ContentItem | ItemParts = {},
  { includeContent = false, rowKey = ROW_KEY } = {},
): string {
  const part = new EventPart();
  part.encode('bytes' in item ? (item as ContentItem) : contentItem(item as ItemParts), {
    includeContent,
  });
  const cell = Buffer.alloc(RowSeal.size(part));
  return cell.toString('latin1', 0, new RowSeal(rowKey).write(part, cell, 0));
}

/** Returns the part of the event that a reference contains. */
export function openedOf(cell: string): EventPart {
  const part = new EventPart();
  const bytes = Buffer.from(cell);
  assert.equal(new RowSeal(ROW_KEY).open(bytes, 0, bytes.length, part), undefined);
  return part;
}

export const UPLOAD: UploadOptions = { includeContent: false };

/** Returns the upload of these items. */
export async function uploadOf(
  items: Iterable<ContentItem>,
  options: Partial<UploadOptions> = {},
): Promise<string> {
  const rows = new CsvRows({ ...UPLOAD, ...options }, new BufferPool(0), ROW_KEY);
  for (const item of items) rows.add(item);
  return String((await rows.finish()).body);
}
