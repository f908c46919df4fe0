/** Decoding of source records into items, or reasons for dead letters, around the mapping of a kind. */
import type { KindSteps } from '../core/ports/pipeline-kind.ts';
import { type ContentItem, NO_HEADERS, type RecordHeaders } from '../core/record.ts';
import { scalarText } from './expression/exact-number.ts';
import { EventInput } from './expression/index.ts';
import { type EventFormat, hasValue, type ValuedRecord } from './format.ts';
import { poison } from './json-event.ts';
import { MappedPart, MappingFailure } from './mapping/mapping-failure.ts';

export type RecordDecoder = KindSteps['decode'];

export interface DecoderOptions {
  /** The source topic, for the expression `topic()`. */
  readonly topic: string;
  /** Expression that selects the records to process. Default: all. */
  readonly filter?: string | undefined;
  /** Expression for the key of the terminal record. Default: the key of the source record. */
  readonly outputKey?: string | undefined;
  /** Names of the headers that travel from the event to its terminal record. */
  readonly headers: readonly string[];
  /** Fate of a record without a value. */
  readonly nullValues: 'dead-letter' | 'skip';
}

/** Item as a kind maps it from an event. */
type MappedItem = Pick<ContentItem, 'type' | 'content' | 'metadata' | 'expected'> & {
  /** Memory that it takes, beside its key, its headers and the objects that hold it. */
  readonly bytes: number;
};

/** Per item beside its own bytes: the reference, delimiters, and the objects that hold it. */
const ITEM_OVERHEAD_BYTES = 128;
/** A key is no place for content. */
const MAX_KEY_BYTES = 64 * 1024;

/**
 * Compiles a decoder. It never throws, and its messages never show the content of a record (I6).
 * @param map `again` as in `KindSteps.decode`. @throws MappingFailure
 * @throws RangeError on an invalid expression
 */
export function compileDecoder(
  { topic, filter, outputKey, headers: names, nullValues }: DecoderOptions,
  read: EventFormat['read'],
  map: (
    input: EventInput,
    record: ValuedRecord,
    again: { readonly type: string } | undefined,
  ) => MappedItem,
): RecordDecoder {
  const keyPart =
    outputKey === undefined ? undefined : new MappedPart(outputKey, 'output.key.field');
  const isWanted = filter === undefined ? undefined : compileFilter(filter);

  return (record, replay, again) => {
    if (!hasValue(record)) {
      if (nullValues === 'skip' && again === undefined) return { skip: 'null_value' };
      return poison('null_value', 'the record has no value');
    }
    const { event, poison: unreadable } = read(record);
    if (event === undefined) return { poison: unreadable };

    const input = new EventInput(event, record, topic);
    try {
      if (isWanted && again === undefined && !isWanted(input)) return { skip: 'filter' };
      // Named one by one: spreads took half a microsecond and 300 bytes of garbage per record.
      const { type, content, metadata, expected, bytes } = map(input, record, again);
      const { partition, offset, timestampMs, key } = record;
      const headers = pickHeaders(record.headers, names);
      const outputKey = keyPart === undefined ? undefined : keyOf(keyPart, input);
      const keyBytes = 2 * ((key?.length ?? 0) + (outputKey?.length ?? 0));
      const item: ContentItem = {
        partition,
        offset,
        timestampMs,
        key,
        headers,
        type,
        content,
        metadata,
        expected,
        replay,
        bytes: ITEM_OVERHEAD_BYTES + bytes + keyBytes + headerBytes(headers),
      };
      return { item: outputKey === undefined ? item : { ...item, outputKey } };
    } catch (error) {
      if (error instanceof MappingFailure) return { poison: error.poison };
      throw error;
    }
  };
}

/**
 * Filter of records: true is wanted, false and null are not. Anything else, and an expression that
 * cannot be evaluated, is a mistake: such a record must not be skipped in silence.
 * @param option that holds the expression, for messages
 * @throws RangeError on an invalid expression; the filter throws MappingFailure
 */
export function compileFilter(
  text: string,
  option = 'source.filter',
): (input: EventInput) => boolean {
  const part = new MappedPart(text, option);
  return (input) => {
    const found = part.find(input) ?? false;
    if (typeof found === 'boolean') return found;
    throw part.mismatch('mapping_failed', 'true or false', found);
  };
}

/** Returns a text or a number as a key; null where the expression finds nothing. @throws MappingFailure */
function keyOf(part: MappedPart, input: EventInput): Buffer | null {
  const found = part.find(input) ?? null;
  if (found === null) return null;
  const text = typeof found === 'boolean' ? undefined : scalarText(found);
  if (text === undefined) throw part.mismatch('mapping_failed', 'a string or a number', found);
  const key = Buffer.from(text);
  part.limit(key.length, MAX_KEY_BYTES, 'bytes', 'of a key');
  return key;
}

/** The headers of those names, in the record's order. */
function pickHeaders(headers: RecordHeaders, names: readonly string[]): RecordHeaders {
  if (names.length === 0 || headers.length === 0) return NO_HEADERS;
  return headers.filter(([name]) => names.includes(name));
}

/** Memory of headers, bytes. */
function headerBytes(headers: RecordHeaders): number {
  let bytes = 0;
  for (const [name, value] of headers) bytes += 2 * (name.length + (value?.length ?? 0)) + 8;
  return bytes;
}
