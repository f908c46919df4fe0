/** Decoder of source records into ids of decisions. */
import { isUtf8 } from 'node:buffer';
import type { EventInput } from '../../events/expression/index.ts';
import type { EventFormat, ReadEvent, ValuedRecord } from '../../events/format.ts';
import { jsonFormat, poison } from '../../events/json-event.ts';
import { MappedPart } from '../../events/mapping/mapping-failure.ts';
import {
  compileDecoder,
  type DecoderOptions,
  type RecordDecoder,
} from '../../events/record-decoder.ts';

/** Strings are expressions (docs/mapping.md). */
export interface LookupMapping extends DecoderOptions {
  /** Format of the values. Default JSON. */
  readonly format?: EventFormat;
  /** The id in an event; undefined: the value is the id, and the event `{content: ID}`. */
  readonly decisionId: string | undefined;
}

/** Content type in the engine: lookups have none of their own. */
const LOOKUP_TYPE = 'lookup';

/** An id is part of a URL. */
const MAX_ID_LENGTH = 1024;

/**
 * Creates the decoder of a mapping. It never throws, and its messages never show content (I6).
 * @throws RangeError for an invalid expression
 */
export function createLookupDecoder(mapping: LookupMapping): RecordDecoder {
  const { decisionId, format = jsonFormat } = mapping;
  const part = new MappedPart(decisionId ?? 'content', 'source.mapping.decisionId');

  function idOf(input: EventInput): string {
    const id = part.find(input);
    if (typeof id !== 'string') throw part.mismatch('no_content', 'a string', id);
    if (id === '') throw part.failure('empty_content', 'is empty, and must be a decision id');
    if (id === '.' || id === '..' || !id.isWellFormed() || /\p{Cc}/u.test(id)) {
      throw part.failure('no_content', 'is not a decision id: it cannot be part of a URL');
    }
    part.limit(id.length, MAX_ID_LENGTH, 'characters', 'that a decision id may have');
    return id;
  }

  return compileDecoder(mapping, decisionId === undefined ? readWhole : format.read, (input) => {
    const id = idOf(input);
    return { type: LOOKUP_TYPE, content: id, metadata: {}, expected: undefined, bytes: id.length };
  });
}

function readWhole({ value }: ValuedRecord): ReadEvent {
  if (!isUtf8(value))
    return poison('no_content', 'the value is not a decision id: its bytes are not UTF-8');
  const document = { content: value.toString('utf8').trim() };
  return { event: { document, exact: () => document } };
}
