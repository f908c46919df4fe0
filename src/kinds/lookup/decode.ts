/** Decoder of source records into decision ids. */
import { textOfString } from '../../../packages/client/src/base/json/json-text.ts';
import { STRING } from '../../../packages/client/src/base/json/scanner.ts';
import { EMPTY_OBJECT } from '../../events/expression/input.ts';
import {
  contentEvent,
  type EventFormat,
  jsonFormat,
  poison,
  textCost,
} from '../../events/format.ts';
import { MappedPart } from '../../events/mapping-failure.ts';
import {
  compileDecoder,
  type DecoderOptions,
  partOf,
  type RecordDecoder,
} from '../../events/record-decoder.ts';

/** Options of the decoder. Strings are expressions (docs/mapping.md). */
export interface LookupMapping extends DecoderOptions {
  /** Format of the record values. Default: JSON. */
  readonly format?: EventFormat;
  /** Expression for the id. If undefined, the whole value is the id, and the event is `{content: ID}`. */
  readonly decisionId: string | undefined;
}

/** Content type in the engine, because lookups have none. */
const LOOKUP_TYPE = 'lookup';

/** Maximum length of an id. Ids are parts of URLs. */
const MAX_ID_LENGTH = 1024;

/** Format of values that consist of an id, with optional blanks around it. */
const WHOLE_VALUE: Pick<EventFormat, 'read' | 'cost'> = {
  cost: textCost,
  read({ value }) {
    let start = 0;
    let end = value.length;
    while (start < end && isBlank(value[start])) start++;
    while (end > start && isBlank(value[end - 1])) end--;
    return (
      contentEvent(value, start, end) ??
      poison('no_content', 'the value is not a decision id: its bytes are not UTF-8')
    );
  },
};

const isBlank = (byte = 0): boolean => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);

/**
 * Creates the decoder of a mapping. It never throws, and its messages never contain content (I6).
 * @throws RangeError for an invalid expression
 */
export function createLookupDecoder(mapping: LookupMapping): RecordDecoder {
  const { decisionId, format = jsonFormat } = mapping;
  return compileDecoder(mapping, decisionId === undefined ? WHOLE_VALUE : format, (input) => {
    const part = new MappedPart(decisionId ?? 'content', 'source.mapping.decisionId', input);
    return () => {
      const found = part.find();
      if (found.type !== STRING) throw part.mismatch('no_content', 'a string', found);
      const id = textOfString(found);
      if (id === '') throw part.failure('empty_content', 'must be a decision id, but is empty');
      if (id === '.' || id === '..' || !id.isWellFormed() || /\p{Cc}/u.test(id)) {
        throw part.failure('no_content', 'is not a decision id: it cannot be part of a URL');
      }
      part.limit(id.length, MAX_ID_LENGTH, 'characters', 'that a decision id may have');
      const content = partOf(found);
      const metadata = partOf(EMPTY_OBJECT);
      return { type: LOOKUP_TYPE, content, metadata, expected: undefined };
    };
  });
}
