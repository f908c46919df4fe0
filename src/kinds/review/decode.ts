/** Decoder of source records into content items. */

import { isAbsent } from '../../../packages/client/src/base/json/json-text.ts';
import { type ScannedValue, STRING } from '../../../packages/client/src/base/json/scanner.ts';
import type { JsonPart } from '../../core/record.ts';
import type { EventInput } from '../../events/expression/index.ts';
import { type EventFormat, jsonFormat } from '../../events/format.ts';
import { MappedPart } from '../../events/mapping-failure.ts';
import { compileObject } from '../../events/object-mapping.ts';
import {
  compileDecoder,
  type DecoderOptions,
  partOf,
  type RecordDecoder,
} from '../../events/record-decoder.ts';
import { compileType, type TypeSource } from '../../events/type-mapping.ts';

/** Expressions for the parts of a content event (docs/mapping.md). */
export interface MappingOptions extends DecoderOptions {
  /** Format of the record values. */
  readonly format: EventFormat;
  /** Expression for the text or URL to review. */
  readonly content: string;
  /** Source of the content type, which selects the batch. */
  readonly type: TypeSource;
  /** Types that may be submitted. Other types become dead letters. Absent if all are allowed. */
  readonly allowedTypes?: readonly string[] | undefined;
  /** Expression for the metadata object. */
  readonly metadata: string;
  /** Expression for the decision that the producer expects, a string. */
  readonly expected: string;
  /** Maximum size of the content in bytes of UTF-8. */
  readonly maxContentBytes: number;
  /** Maximum size of the metadata in bytes of JSON. */
  readonly maxMetadataBytes: number;
}

export const DEFAULT_MAPPING: MappingOptions = {
  format: jsonFormat,
  content: 'content',
  type: { field: 'type' },
  metadata: 'metadata',
  expected: 'expected_result',
  headers: [],
  nullValues: 'dead-letter',
  maxContentBytes: 1024 * 1024,
  maxMetadataBytes: 1024 * 1024,
};

/** Rules for the metadata, which the decision repeats. */
const METADATA = {
  option: 'source.mapping.metadata',
  required: false,
  reason: 'bad_metadata',
  maxMembers: 1_000,
  maxValues: 100_000,
} as const;

/**
 * Creates the decoder of a mapping. It never throws, and its messages never contain content (I6).
 * @throws RangeError for an invalid expression
 */
export function createDecoder(mapping: MappingOptions): RecordDecoder {
  return compileDecoder(mapping, mapping.format, (input) => {
    const contentOf = compileContent(mapping, input);
    const typeOf = compileType(mapping.type, mapping.allowedTypes, input);
    const expectedOf = compileExpected(mapping, input);
    const rules = { ...METADATA, maxBytes: mapping.maxMetadataBytes };
    const metadataOf = compileObject(mapping.metadata, rules, input);
    return (again) => ({
      content: contentOf(),
      type: again?.type ?? typeOf(false),
      expected: expectedOf(),
      metadata: partOf(metadataOf()),
    });
  });
}

/** Size of the quotes around a string. */
const QUOTES = 2;

type ExpectedMapping = Pick<MappingOptions, 'expected' | 'maxMetadataBytes'>;

/** @throws RangeError for an invalid expression. The returned function throws MappingFailure */
function compileExpected(
  { expected: text, maxMetadataBytes }: ExpectedMapping,
  input: EventInput,
): () => JsonPart | undefined {
  const part = new MappedPart(text, 'source.mapping.expectedResult', input);
  return () => {
    const expected = part.find();
    if (isAbsent(expected)) return undefined;
    if (expected.type !== STRING) throw part.mismatch('bad_metadata', 'a string', expected);
    if (sizeOf(expected) > maxMetadataBytes) {
      throw part.failure(
        'too_large',
        `has more than the ${maxMetadataBytes} bytes allowed for metadata`,
      );
    }
    return partOf(expected);
  };
}

type ContentMapping = Pick<MappingOptions, 'content' | 'maxContentBytes'>;

/** @throws RangeError for an invalid expression. The returned function throws MappingFailure */
function compileContent(
  { content: text, maxContentBytes }: ContentMapping,
  input: EventInput,
): () => JsonPart {
  const part = new MappedPart(text, 'source.mapping.content', input);
  return () => {
    const content = part.find();
    if (content.type !== STRING) throw part.mismatch('no_content', 'a string', content);
    const size = sizeOf(content);
    if (size === 0) throw part.failure('empty_content', 'is an empty string');
    part.limit(size, maxContentBytes, 'bytes', 'allowed');
    return partOf(content);
  };
}

/** Returns the encoded size of a string without its quotes. */
const sizeOf = ({ start, end }: ScannedValue): number => end - start - QUOTES;
