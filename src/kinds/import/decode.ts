/** Decoder of source records into lines of an import file. */
import { jsonTextOf } from '../../../packages/client/src/base/json/json-text.ts';
import { type EventFormat, jsonFormat } from '../../events/format.ts';
import { MappingFailure } from '../../events/mapping-failure.ts';
import { compileObject } from '../../events/object-mapping.ts';
import {
  compileDecoder,
  type DecoderOptions,
  partOf,
  type RecordDecoder,
} from '../../events/record-decoder.ts';
import { compileType, type TypeSource } from '../../events/type-mapping.ts';
import { LINE_BYTES } from './json-lines.ts';

/** Options of the decoder. Strings are expressions (docs/mapping.md). */
export interface ImportMapping extends DecoderOptions {
  /** Format of the record values. Default: JSON. */
  readonly format?: EventFormat;
  /** Import type of the record. */
  readonly type: TypeSource;
  /** Expression for the data object. */
  readonly data: string;
  /** Types that may be imported. Other types become dead letters. Absent if all are allowed. */
  readonly allowedTypes?: readonly string[] | undefined;
  /** Maximum size of a line in bytes of UTF-8. */
  readonly maxLineBytes: number;
}

/** Content type in the engine. One file may have records of all import types, so all share a buffer. */
const IMPORT_TYPE = 'import';
/** Maximum number of members and elements in a record's data, at all levels. */
const MAX_VALUES = 2 ** 18;

/**
 * Creates the decoder of a mapping. It never throws, and its messages never contain content (I6).
 * @throws RangeError for an invalid expression
 */
export function createImportDecoder(mapping: ImportMapping): RecordDecoder {
  const { format = jsonFormat, maxLineBytes } = mapping;
  return compileDecoder(mapping, format, (input) => {
    const typeOf = compileType(mapping.type, mapping.allowedTypes, input);
    const rules = {
      option: 'source.mapping.data',
      required: true,
      reason: 'no_content',
      maxBytes: maxLineBytes,
      maxMembers: MAX_VALUES,
      maxValues: MAX_VALUES,
    } as const;
    const dataOf = compileObject(mapping.data, rules, input);
    let last = { type: '', part: jsonTextOf('') };

    return (again) => {
      const type = typeOf(again !== undefined);
      if (type !== last.type) last = { type, part: jsonTextOf(type) };
      const content = last.part;
      const data = dataOf();
      const bytes = LINE_BYTES + content.end - content.start + data.end - data.start;
      if (bytes > maxLineBytes) {
        throw new MappingFailure(
          'too_large',
          `the record needs a line of ${bytes} bytes, more than the ${maxLineBytes} allowed`,
        );
      }
      return { type: IMPORT_TYPE, content, metadata: partOf(data), expected: undefined };
    };
  });
}
