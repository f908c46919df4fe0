/** References written in the plain way, as an oracle for the byte writer. */
import type { ContentItem } from '../../../src/core/record.ts';
import { type CarriedParts, extrasJson, keyJson } from '../../../src/kinds/review/reference.ts';

/** @param carried with the entries of metadata-shape.ts joined; undefined without metadata columns */
export function writeReference(
  item: ContentItem,
  carried: Partial<CarriedParts> & { readonly shape: string | undefined },
): string {
  const { shape, expected, metadata, escapedContent = false } = carried;
  const key = item.key === null ? 'null' : keyJson(item.key);
  const head = `[${item.partition},${item.offset},${item.timestampMs},${key}`;
  const extras = extrasJson(item, { expected, metadata, escapedContent });
  if (extras === undefined) return shape === undefined ? `${head}]` : `${head},"${shape}"]`;
  return `${head},${shape === undefined ? '0' : `"${shape}"`},${extras}]`;
}
