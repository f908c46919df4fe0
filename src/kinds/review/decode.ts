/** Decoder of source records into content items. */
import { valueLengthOf } from '../../core/bytes/record-view.ts';
import type { EventInput } from '../../events/expression/index.ts';
import { memoryBesideText } from '../../events/json-memory.ts';
import { MappedPart } from '../../events/mapping/mapping-failure.ts';
import { compileType } from '../../events/mapping/type-mapping.ts';
import { compileDecoder, type RecordDecoder } from '../../events/record-decoder.ts';
import type { MappingOptions } from './mapping.ts';
import { compileMetadata } from './metadata/metadata.ts';

/**
 * Creates the decoder of a mapping. It never throws, and its messages never show content (I6).
 * @throws RangeError for an invalid expression
 */
export function createDecoder(mapping: MappingOptions): RecordDecoder {
  const contentOf = compileContent(mapping);
  const typeOf = compileType(mapping.type, mapping.allowedTypes);
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
    const type = again?.type ?? typeOf(input, false);
    const expected = expectedOf(input);
    const metadata = metadataOf(input);
    // The result of an expression may be larger than the event.
    const bytes =
      Math.max(valueLengthOf(record), content.length + (metadata.bytes ?? 0)) +
      memoryBesideText(metadata.object);
    return { type, content, metadata: metadata.object, expected, bytes };
  });
}

/** Limit of many browsers, proxies and servers. */
const MAX_URL_LENGTH = 8192;

type ContentMapping = Pick<MappingOptions, 'content' | 'contentKind' | 'maxContentBytes'>;

/** @throws RangeError for an invalid expression; the returned function throws MappingFailure */
function compileContent({
  content: text,
  contentKind,
  maxContentBytes,
}: ContentMapping): (input: EventInput) => string {
  const part = new MappedPart(text, 'source.mapping.content');
  return (input) => {
    const content = part.find(input);
    if (typeof content !== 'string') throw part.mismatch('no_content', 'a string', content);
    if (content === '') throw part.failure('empty_content', 'is an empty string');
    // A UTF-16 unit becomes at most three bytes: short texts need not be counted.
    if (content.length * 3 > maxContentBytes)
      part.limit(Buffer.byteLength(content), maxContentBytes, 'bytes', 'allowed');
    if (contentKind === 'url') {
      const problem = problemWithUrl(content);
      if (problem !== undefined) throw part.failure('bad_content', problem);
    }
    return content;
  };
}

/** URL.parse accepts blanks and more, which other software may not. */
function problemWithUrl(content: string): string | undefined {
  if (content.length > MAX_URL_LENGTH)
    return `has ${content.length} characters, more than the ${MAX_URL_LENGTH} that a URL may have`;
  if (/[\s\p{Cc}]/u.test(content)) return 'must be a URL, but has blanks or control characters';
  if (!/^https?:\/\//i.test(content))
    return 'must be an absolute URL that begins with http:// or https://';
  return URL.canParse(content) ? undefined : 'must be a URL, but cannot be read as one';
}
