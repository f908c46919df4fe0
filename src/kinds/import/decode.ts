/** Decoder of source records into lines of an import file. */
import type { EventInput } from '../../events/expression/index.ts';
import type { EventFormat } from '../../events/format.ts';
import { jsonFormat } from '../../events/json-event.ts';
import { jsonBytes } from '../../events/json-memory.ts';
import { MappingFailure } from '../../events/mapping/mapping-failure.ts';
import { compileObject, type ObjectSource } from '../../events/mapping/object-mapping.ts';
import { compileType, type TypeSource } from '../../events/mapping/type-mapping.ts';
import {
  compileDecoder,
  type DecoderOptions,
  type RecordDecoder,
} from '../../events/record-decoder.ts';

/** Strings are expressions (docs/mapping.md). */
export interface ImportMapping extends DecoderOptions {
  /** Format of the values. Default JSON. */
  readonly format?: EventFormat;
  /** The type of the record. */
  readonly type: TypeSource;
  /** The data object, or its fields. */
  readonly data: ObjectSource;
  /** Types that may be imported; others become dead letters. Absent: any. */
  readonly allowedTypes?: readonly string[] | undefined;
  /** Largest line, bytes of UTF-8. */
  readonly maxLineBytes: number;
}

/** Content type in the engine: records of all types share a file, so they share a buffer. */
const IMPORT_TYPE = 'import';

/**
 * Creates the decoder of a mapping. It never throws, and its messages never show content (I6).
 * @throws RangeError for an invalid expression
 */
export function createImportDecoder(mapping: ImportMapping): RecordDecoder {
  const { format = jsonFormat, maxLineBytes } = mapping;
  const typeOf = compileType(mapping.type, mapping.allowedTypes);
  const dataMapping = compileObject(mapping.data, {
    option: 'source.mapping.data',
    required: true,
    reason: 'no_content',
    maxBytes: maxLineBytes,
  });

  function lineOf(input: EventInput, accepted: boolean): string {
    const type = typeOf(input, accepted);
    const data = dataMapping.find(input);
    // Before encoding: an expression may repeat a large part of an event a thousand times.
    if (!dataMapping.isPath && jsonBytes(data, maxLineBytes) > maxLineBytes) {
      throw new MappingFailure(
        'too_large',
        `the record makes a line of more than the ${maxLineBytes} bytes allowed`,
      );
    }
    return JSON.stringify({ type, data });
  }

  return compileDecoder(mapping, format.read, (input, _record, again) => {
    const line = lineOf(input, again !== undefined);
    const bytes = Buffer.byteLength(line);
    if (bytes > maxLineBytes) {
      throw new MappingFailure(
        'too_large',
        `the record makes a line of ${bytes} bytes, more than the ${maxLineBytes} allowed`,
      );
    }
    return { type: IMPORT_TYPE, content: line, metadata: {}, expected: undefined, bytes };
  });
}
