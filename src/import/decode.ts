/** A source record becomes one line of an import file (service-interface.md 2.5), or a reason why not. */
import type { KindSteps } from '../core/ports/pipeline-kind.ts';
import type { ContentItem } from '../core/record.ts';
import { EventInput } from '../event/expression/index.ts';
import { type EventFormat, hasValue } from '../event/format.ts';
import { jsonFormat, poison } from '../event/json-event.ts';
import { MappingFailure, poisonOf } from '../event/mapping-failure.ts';
import { compileObject, jsonBytes, type ObjectSource } from '../event/object-mapping.ts';
import { compileOutputKey } from '../event/output-key.ts';
import { compileFilter, FILTERED } from '../event/record-filter.ts';
import { headerBytes, ownKey, pickHeaders } from '../event/record-parts.ts';
import { compileType, type TypeSource } from '../event/type-mapping.ts';

/** Texts are expressions (docs/mapping.md). */
export interface ImportMapping {
  /** How values are written. Default JSON. */
  readonly format?: EventFormat;
  /** The source topic, for expressions that ask. */
  readonly topic: string;
  /** Which records are imported at all. Absent: every one. */
  readonly filter?: string | undefined;
  /** The type of the record. */
  readonly type: TypeSource;
  /** The data object, or its fields. */
  readonly data: ObjectSource;
  /** Types that may be imported; an event of another type is a dead letter. Absent: any. */
  readonly allowedTypes?: readonly string[] | undefined;
  /** The key of its terminal record. Absent: that of the source record. */
  readonly outputKey?: string | undefined;
  /** Names of the headers that travel from the event to its receipt. */
  readonly headers: readonly string[];
  /** What becomes of a record without a value. */
  readonly nullValues: 'dead-letter' | 'skip';
  /** Largest line, in bytes of UTF-8. */
  readonly maxLineBytes: number;
}

/** Records of all types share a file, so they share the buffer and the gate that types have in the engine. */
export const IMPORT_TYPE = 'import';

/** Counted per item beside its own bytes: the objects that hold it. */
const ITEM_OVERHEAD_BYTES = 128;

/**
 * Builds the decoder of one mapping. It never throws, and its messages never show what a record holds (I6).
 * @throws RangeError on an expression that is none
 */
export function createImportDecoder(mapping: ImportMapping): KindSteps['decode'] {
  const { format = jsonFormat, topic, maxLineBytes } = mapping;
  const withOutputKey = compileOutputKey(mapping.outputKey);
  const filter = mapping.filter === undefined ? undefined : compileFilter(mapping.filter);
  const types = compileType(mapping.type, mapping.allowedTypes);
  const dataMapping = compileObject(mapping.data, { option: 'source.mapping.data', required: true, reason: 'no_content' });

  function lineOf(input: EventInput, accepted: boolean): string {
    const type = types.find(input, accepted);
    const data = dataMapping.find(input);
    // Before it is written: an expression may name the same large part of an event a thousand times.
    if (!dataMapping.isPath && jsonBytes(data, maxLineBytes) > maxLineBytes) {
      throw new MappingFailure('too_large', `the record makes a line of more than the ${maxLineBytes} bytes allowed`);
    }
    return JSON.stringify({ type, data });
  }

  return (record, replay, again) => {
    if (!hasValue(record)) {
      if (mapping.nullValues === 'skip' && again === undefined) return { skip: 'null_value' };
      return poison('null_value', 'the record has no value');
    }
    const { event, poison: unreadable } = format.read(record);
    if (event === undefined) return { poison: unreadable };
    const input = new EventInput(event, record, topic);
    try {
      if (filter !== undefined && again === undefined && !filter(input)) return FILTERED;
      const line = lineOf(input, again !== undefined);
      const bytes = Buffer.byteLength(line);
      if (bytes > maxLineBytes) {
        return poison('too_large', `the record makes a line of ${bytes} bytes, more than the ${maxLineBytes} allowed`);
      }
      const headers = pickHeaders(record.headers, mapping.headers);
      const { partition, offset, timestampMs, key } = record;
      const item: ContentItem = {
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
      };
      return { item: withOutputKey(item, input) };
    } catch (error) {
      return poisonOf(error);
    }
  };
}
