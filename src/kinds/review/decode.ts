/** Decoder of source records into content items. */
import { valueLengthOf } from '../../core/bytes/record-view.ts';
import type { EventInput } from '../../events/expression/index.ts';
import { memoryBesideText } from '../../events/json-memory.ts';
import { MappedPart } from '../../events/mapping/mapping-failure.ts';
import { compileType } from '../../events/mapping/type-mapping.ts';
import { compileDecoder, type RecordDecoder } from '../../events/record-decoder.ts';
import { compileContent } from './content.ts';
import type { MappingOptions } from './mapping.ts';
import { compileMetadata } from './metadata/metadata.ts';

/**
 * Creates the decoder of a mapping. It never throws, and its messages never show content (I6).
 * @throws RangeError for an invalid expression
 */
export function createDecoder(mapping: MappingOptions): RecordDecoder {
  const contentOf = compileContent(mapping);
  const types = compileType(mapping.type, mapping.allowedTypes);
  const metadataOf = compileMetadata(mapping);
  const expectedPart = new MappedPart(mapping.expected, 'source.mapping.expectedResult');
  const { format, maxMetadataBytes } = mapping;

  function expectedOf(input: EventInput): string | undefined {
    const expected = expectedPart.find(input) ?? undefined;
    if (expected === undefined) return undefined;
    if (typeof expected !== 'string')
      throw expectedPart.mismatch('bad_metadata', 'a string', expected);
    if (expected.length > maxMetadataBytes) {
      throw expectedPart.failure(
        'too_large',
        `has more than the ${maxMetadataBytes} bytes allowed for metadata`,
      );
    }
    return expected;
  }

  return compileDecoder(mapping, format.read, (input, record, again) => {
    const content = contentOf(input);
    const type = again?.type ?? types.find(input, false);
    const expected = expectedOf(input);
    const metadata = metadataOf(input);
    // The result of an expression may be larger than the event.
    const bytes =
      Math.max(valueLengthOf(record), content.length + (metadata.bytes ?? 0)) +
      memoryBesideText(metadata.object);
    return { type, content, metadata: metadata.object, expected, bytes };
  });
}
