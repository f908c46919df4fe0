/** A source record becomes a content item, or a reason why not (DESIGN 3 intake, 4 first row). */
import type { KindSteps } from '../core/ports/pipeline-kind.ts';
import type { ContentItem, JsonObject } from '../core/record.ts';
import { isDeeperThan } from '../event/json-depth.ts';
import { exactPart } from '../event/exact-part.ts';
import { hasValue } from '../event/format.ts';
import { nameOf, poison } from '../event/json-event.ts';
import { parsePath, valueAt } from '../event/path.ts';
import { headerBytes, ownKey, pickHeaders } from '../event/record-parts.ts';
import type { MappingOptions } from './mapping.ts';

/** Deeper metadata is refused: writing it out again would need a deep stack. */
export const MAX_METADATA_DEPTH = 64;

/** Counted per item beside its own bytes: the reference, delimiters, and the objects that hold it. */
const ITEM_OVERHEAD_BYTES = 128;

export type Decoder = KindSteps['decode'];

/** Builds the decoder of one mapping. The decoder never throws, and its messages never show what a record holds (I6). */
export function createDecoder(mapping: MappingOptions): Decoder {
  const contentPath = parsePath(mapping.content);
  const metadataPath = parsePath(mapping.metadata);
  const expectedPath = parsePath(mapping.expected);
  const typePath = 'field' in mapping.type ? parsePath(mapping.type.field) : undefined;
  const constantType = 'constant' in mapping.type ? mapping.type.constant : undefined;
  const allowedTypes = mapping.allowedTypes === undefined ? undefined : new Set(mapping.allowedTypes);
  const { headers: headerNames, nullValues, maxContentBytes, format } = mapping;

  return (record, replay, again) => {
    if (!hasValue(record)) {
      if (nullValues === 'skip' && again === undefined) return { skip: 'null_value' };
      return poison('null_value', 'the record has no value');
    }
    const { event, poison: unreadable } = format.read(record);
    if (event === undefined) return { poison: unreadable };
    const { document } = event;

    const content = valueAt(document, contentPath);
    if (typeof content !== 'string') {
      return poison('no_content', `"${mapping.content}" must be a string, but is ${nameOf(content)}`);
    }
    if (content === '') return poison('empty_content', `"${mapping.content}" is an empty string`);
    // A UTF-16 unit becomes at most three bytes: short texts need no count.
    if (content.length * 3 > maxContentBytes && Buffer.byteLength(content) > maxContentBytes) {
      const bytes = Buffer.byteLength(content);
      return poison('too_large', `"${mapping.content}" has ${bytes} bytes, more than the ${maxContentBytes} allowed`);
    }

    let type: unknown = again?.type ?? constantType;
    if (type === undefined && typePath !== undefined) type = valueAt(document, typePath);
    if (typeof type !== 'string' || type === '') {
      const path = typePath?.join('.') ?? 'type';
      return poison('no_type', `"${path}" must be a string that is not empty, but is ${type === '' ? 'empty' : nameOf(type)}`);
    }
    if (again === undefined && allowedTypes !== undefined && !allowedTypes.has(type)) {
      return poison('type_not_allowed', `the content type is none of those allowed: ${[...allowedTypes].join(', ')}`);
    }

    const expected = valueAt(document, expectedPath) ?? undefined;
    if (expected !== undefined && typeof expected !== 'string') {
      return poison('bad_metadata', `"${mapping.expected}" must be a string, but is ${nameOf(expected)}`);
    }

    const metadata = valueAt(document, metadataPath) ?? {};
    if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata)) {
      return poison('bad_metadata', `"${mapping.metadata}" must be an object, but is ${nameOf(metadata)}`);
    }
    if (isDeeperThan(metadata, MAX_METADATA_DEPTH)) {
      return poison('bad_metadata', `"${mapping.metadata}" is nested deeper than ${MAX_METADATA_DEPTH} levels`);
    }
    const exact = exactPart(event, metadata, (whole) => valueAt(whole, metadataPath));
    if (exact === undefined) return poison('bad_metadata', 'the value is nested too deeply to keep the digits of its numbers');

    const headers = pickHeaders(record.headers, headerNames);
    const item: ContentItem = {
      partition: record.partition,
      offset: record.offset,
      timestampMs: record.timestampMs,
      key: ownKey(record.key),
      headers,
      type,
      content,
      metadata: exact as JsonObject,
      expected,
      replay,
      bytes: ITEM_OVERHEAD_BYTES + record.value.length + 2 * (record.key?.length ?? 0) + headerBytes(headers),
    };
    return { item };
  };
}
