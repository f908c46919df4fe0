/** Content of an event: a text, or a URL. */
import type { EventInput } from '../../events/expression/index.ts';
import { MappedPart } from '../../events/mapping/mapping-failure.ts';
import type { MappingOptions } from './mapping.ts';

/** Limit of many browsers, proxies and servers. */
const MAX_URL_LENGTH = 8192;

type ContentMapping = Pick<MappingOptions, 'content' | 'contentKind' | 'maxContentBytes'>;

/** @throws RangeError for an invalid expression; the returned function throws MappingFailure */
export function compileContent({
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
