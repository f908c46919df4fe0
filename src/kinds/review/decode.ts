/** Decoder of source records into content items. */
import { isAbsent } from '../../../packages/client/src/base/json/json-text.ts';
import { type ScannedValue, STRING } from '../../../packages/client/src/base/json/scanner.ts';
import type { JsonPart } from '../../core/record.ts';
import type { EventInput } from '../../events/expression/index.ts';
import { MappedPart } from '../../events/mapping/mapping-failure.ts';
import { compileType } from '../../events/mapping/type-mapping.ts';
import { compileDecoder, partOf, type RecordDecoder } from '../../events/record-decoder.ts';
import type { MappingOptions } from './mapping.ts';
import { compileMetadata } from './metadata/metadata.ts';

/**
 * Creates the decoder of a mapping. It never throws, and its messages never show content (I6).
 * @throws RangeError for an invalid expression
 */
export function createDecoder(mapping: MappingOptions): RecordDecoder {
  return compileDecoder(mapping, mapping.format, (input) => {
    const contentOf = compileContent(mapping, input);
    const typeOf = compileType(mapping.type, mapping.allowedTypes, input);
    const expectedOf = compileExpected(mapping, input);
    const metadataOf = compileMetadata(mapping, input);
    return (again) => ({
      content: contentOf(),
      type: again?.type ?? typeOf(false),
      expected: expectedOf(),
      metadata: metadataOf(),
    });
  });
}

/** Quotes of a string. */
const QUOTES = 2;

type ExpectedMapping = Pick<MappingOptions, 'expected' | 'maxMetadataBytes'>;

/** @throws RangeError for an invalid expression; the returned function throws MappingFailure */
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

/** @throws RangeError for an invalid expression; the returned function throws MappingFailure */
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

/** Returns the size of a string as it is written, without its quotes. */
const sizeOf = ({ start, end }: ScannedValue): number => end - start - QUOTES;
