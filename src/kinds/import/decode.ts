/** A source record becomes one line of an import file (service-interface.md 2.5), or a reason why not. */
import type { EventInput } from '../../events/expression/index.ts';
import type { EventFormat } from '../../events/format.ts';
import { jsonFormat } from '../../events/json-event.ts';
import { MappingFailure } from '../../events/mapping/mapping-failure.ts';
import {
  compileObject,
  jsonBytes,
  type ObjectSource,
} from '../../events/mapping/object-mapping.ts';
import { compileType, type TypeSource } from '../../events/mapping/type-mapping.ts';
import {
  compileDecoder,
  type DecoderOptions,
  type RecordDecoder,
} from '../../events/record-decoder.ts';

/** Texts are expressions (docs/mapping.md). */
export interface ImportMapping extends DecoderOptions {
  /** How values are written. Default JSON. */
  readonly format?: EventFormat;
  /** The type of the record. */
  readonly type: TypeSource;
  /** The data object, or its fields. */
  readonly data: ObjectSource;
  /** Types that may be imported; an event of another type is a dead letter. Absent: any. */
  readonly allowedTypes?: readonly string[] | undefined;
  /** Largest line, in bytes of UTF-8. */
  readonly maxLineBytes: number;
}

/** Records of all types share a file, so they share the buffer and the gate that types have in the engine. */
export const IMPORT_TYPE = 'import';

/**
 * Builds the decoder of one mapping. It never throws, and its messages never show what a record holds (I6).
 * @throws RangeError on an expression that is none
 */
export function createImportDecoder(mapping: ImportMapping): RecordDecoder {
  const { format = jsonFormat, maxLineBytes } = mapping;
  const types = compileType(mapping.type, mapping.allowedTypes);
  const dataMapping = compileObject(mapping.data, {
    option: 'source.mapping.data',
    required: true,
    reason: 'no_content',
  });

  function lineOf(input: EventInput, accepted: boolean): string {
    const type = types.find(input, accepted);
    const data = dataMapping.find(input);
    // Before it is written: an expression may name the same large part of an event a thousand times.
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
