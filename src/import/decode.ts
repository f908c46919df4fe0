/** A source record becomes one line of an import file (service-interface.md 2.5), or a reason why not. */
import type { KindSteps } from '../core/ports/pipeline-kind.ts';
import { isDeeperThan } from '../event/json-depth.ts';
import { exactPart } from '../event/exact-part.ts';
import { type EventFormat, hasValue } from '../event/format.ts';
import { jsonFormat, nameOf, poison } from '../event/json-event.ts';
import { parsePath, valueAt } from '../event/path.ts';
import { headerBytes, ownKey, pickHeaders } from '../event/record-parts.ts';

export interface ImportMapping {
  /** How values are written. Default JSON. */
  readonly format?: EventFormat;
  /** The type of the record: a path into the event, or the same for all. */
  readonly type: { readonly field: string } | { readonly constant: string };
  /** Path of the data, an object. */
  readonly data: string;
  /** Types that may be imported; an event of another type is a dead letter. Absent: any. */
  readonly allowedTypes?: readonly string[] | undefined;
  /** Names of the headers that travel from the event to its receipt. */
  readonly headers: readonly string[];
  /** What becomes of a record without a value. */
  readonly nullValues: 'dead-letter' | 'skip';
  /** Largest line, in bytes of UTF-8. */
  readonly maxLineBytes: number;
}

/** Records of all types share a file, so they share the buffer and the gate that types have in the engine. */
export const IMPORT_TYPE = 'import';

/** Deeper data is refused: writing it out again would need a deep stack. */
const MAX_DATA_DEPTH = 64;
/** Counted per item beside its own bytes: the objects that hold it. */
const ITEM_OVERHEAD_BYTES = 128;

/** Builds the decoder of one mapping. It never throws, and its messages never show what a record holds (I6). @throws RangeError on a path that cannot work */
export function createImportDecoder(mapping: ImportMapping): KindSteps['decode'] {
  const { format = jsonFormat } = mapping;
  const dataPath = parsePath(mapping.data);
  const typePath = 'field' in mapping.type ? parsePath(mapping.type.field) : undefined;
  const constantType = 'constant' in mapping.type ? mapping.type.constant : undefined;
  const allowedTypes = mapping.allowedTypes === undefined ? undefined : new Set(mapping.allowedTypes);

  return (record, replay, again) => {
    if (!hasValue(record)) {
      if (mapping.nullValues === 'skip' && again === undefined) return { skip: 'null_value' };
      return poison('null_value', 'the record has no value');
    }
    const { event, poison: unreadable } = format.read(record);
    if (event === undefined) return { poison: unreadable };
    const { document } = event;

    const type = constantType ?? (typePath && valueAt(document, typePath));
    if (typeof type !== 'string' || type === '') {
      const path = typePath?.join('.') ?? 'type';
      return poison('no_type', `"${path}" must be a string that is not empty, but is ${type === '' ? 'empty' : nameOf(type)}`);
    }
    if (again === undefined && allowedTypes !== undefined && !allowedTypes.has(type)) {
      return poison('type_not_allowed', `the type is none of those allowed: ${[...allowedTypes].join(', ')}`);
    }
    const data = valueAt(document, dataPath);
    if (typeof data !== 'object' || data === null || Array.isArray(data)) {
      return poison('no_content', `"${mapping.data}" must be an object, but is ${nameOf(data)}`);
    }
    if (isDeeperThan(data, MAX_DATA_DEPTH)) {
      return poison('no_content', `"${mapping.data}" is nested deeper than ${MAX_DATA_DEPTH} levels`);
    }
    const exact = exactPart(event, data, (whole) => valueAt(whole, dataPath));
    if (exact === undefined) return poison('no_content', 'the value is nested too deeply to keep the digits of its numbers');

    const line = JSON.stringify({ type, data: exact });
    const bytes = Buffer.byteLength(line);
    if (bytes > mapping.maxLineBytes) {
      return poison('too_large', `the record makes a line of ${bytes} bytes, more than the ${mapping.maxLineBytes} allowed`);
    }
    const headers = pickHeaders(record.headers, mapping.headers);
    const { partition, offset, timestampMs, key } = record;
    return {
      item: {
        partition,
        offset,
        timestampMs,
        key: ownKey(key),
        headers,
        type: IMPORT_TYPE,
        content: line,
        metadata: {},
        expected: undefined,
        replay,
        bytes: ITEM_OVERHEAD_BYTES + bytes + 2 * (key?.length ?? 0) + headerBytes(headers),
      },
    };
  };
}
