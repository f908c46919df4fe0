/** Decodes source records into items, or into reasons for dead letters, with the mapping of a kind. */
import {
  isAbsent,
  textOfString,
  writtenText,
} from '../../packages/client/src/base/json/json-text.ts';
import {
  LITERAL,
  NUMBER,
  type ScannedValue,
  STRING,
} from '../../packages/client/src/base/json/scanner.ts';
import { valueLengthOf } from '../core/bytes/record-view.ts';
import type { KindSteps } from '../core/ports/pipeline-kind.ts';
import { type ContentItem, type JsonPart, NO_HEADERS, type RecordHeaders } from '../core/record.ts';
import { EventInput, parsedBytes } from './expression/index.ts';
import {
  type EventFormat,
  type FormatCost,
  hasValue,
  jsonCost,
  poison,
  type ValuedRecord,
} from './format.ts';
import { MappedPart, MappingFailure } from './mapping-failure.ts';

export type RecordDecoder = Required<Pick<KindSteps, 'decode' | 'decodeCost'>> &
  Pick<KindSteps, 'isOutsideSample'>;

export interface DecoderOptions {
  /** See `KindSteps.isOutsideSample`. */
  readonly isOutsideSample?: KindSteps['isOutsideSample'];
  /** Expression that selects the records to process. Default: all records. */
  readonly filter?: string | undefined;
  /** Rules of lanes by name. The first that matches an item applies. Default: none. */
  readonly lanes?: Readonly<Record<string, LaneRule>> | undefined;
  /** Expression for the key of the terminal record. Default: the key of the source record. */
  readonly outputKey?: string | undefined;
  /** Names of the headers that are copied from the source record to its terminal record. */
  readonly headers: readonly string[];
  /** Treatment of records without a value. */
  readonly nullValues: 'dead-letter' | 'skip';
}

/** Parts of an item that a kind maps from an event. */
type MappedItem = Pick<ContentItem, 'type' | 'content' | 'metadata' | 'expected'>;

/** Rule of a lane. Matches items that have one of the types, or for which the expression is true. */
export interface LaneRule {
  readonly types?: readonly string[] | undefined;
  readonly when?: string | undefined;
}

/** Maps the current event of an input. @param again see `KindSteps.decode` */
type MapEvent = (again: { readonly type: string } | undefined) => MappedItem;

/** Bytes of memory per item in addition to its content: reference, delimiters, and objects. */
const ITEM_OVERHEAD_BYTES = 128;
/** Maximum size of a key. Keys should not carry content. */
const MAX_KEY_BYTES = 64 * 1024;

/**
 * Compiles a decoder. It never throws, and its messages never contain content of a record (I6).
 * @param mapping compiles the mapping of a kind
 * @throws RangeError for an invalid expression
 */
export function compileDecoder(
  { isOutsideSample, filter, lanes, outputKey, headers: names, nullValues }: DecoderOptions,
  format: Pick<EventFormat, 'read' | 'cost'>,
  mapping: (input: EventInput) => MapEvent,
): RecordDecoder {
  const input = new EventInput();
  const isWanted =
    filter === undefined ? undefined : compileCondition(filter, 'source.filter', input);
  const laneOf = lanes === undefined ? undefined : compileLanes(lanes, input);
  const map = mapping(input);
  const keyPart =
    outputKey === undefined ? undefined : new MappedPart(outputKey, 'output.key.field', input);

  const costOf = (record: ValuedRecord): FormatCost =>
    format.cost?.(record) ?? jsonCost(valueLengthOf(record));

  const decode: RecordDecoder['decode'] = (record, replay, again) => {
    if (again === undefined && isOutsideSample?.(record)) return { skip: 'sample' };
    if (!hasValue(record)) {
      if (nullValues === 'skip' && again === undefined) return { skip: 'null_value' };
      return poison('null_value', 'the record has no value');
    }
    const event = format.read(record);
    if (event.poison !== undefined) return event;
    const invalid = input.begin(event, record, input.isParsed ? costOf(record).values : 0);
    if (invalid !== undefined) return { poison: invalid };
    try {
      if (isWanted && again === undefined && !isWanted()) return { skip: 'filter' };
      // The members are listed, because spreading objects took 0.5 µs and 300 bytes of garbage per record.
      const { type, content, metadata, expected } = map(again);
      // Items that are reread keep the lane of their batch.
      const lane = again === undefined ? laneOf?.(type) : undefined;
      const { partition, offset, timestampMs, key } = record;
      const headers = pickHeaders(record.headers, names);
      const outputKey = keyPart === undefined ? undefined : keyOf(keyPart);
      const keyBytes = 2 * ((key?.length ?? 0) + (outputKey?.length ?? 0));
      const partBytes = sizeOf(content) + sizeOf(metadata) + (expected ? sizeOf(expected) : 0);
      const item: ContentItem = {
        partition,
        offset,
        timestampMs,
        key,
        headers,
        type,
        lane,
        content,
        metadata,
        expected,
        replay,
        bytes: ITEM_OVERHEAD_BYTES + partBytes + keyBytes + headerBytes(headers),
      };
      return { item: outputKey === undefined ? item : { ...item, outputKey } };
    } catch (error) {
      if (error instanceof MappingFailure) return { poison: error.poison };
      throw error;
    } finally {
      input.end();
    }
  };

  return {
    ...(isOutsideSample && { isOutsideSample }),
    decode,
    decodeCost(record) {
      if (!hasValue(record)) return 0;
      const { memory, text, values } = costOf(record);
      return input.isParsed ? memory + parsedBytes(values, text) : memory;
    },
  };
}

const sizeOf = ({ start, end }: JsonPart): number => end - start;

/** Returns a value as part of an item. */
export function partOf({ bytes, start, end, hasEscapes }: ScannedValue): JsonPart {
  return { bytes, start, end, hasEscapes };
}

/**
 * Compiles the rules of lanes. The function takes the type of the current event and returns its
 * lane, or undefined for the default lane. @throws RangeError for an invalid expression
 */
function compileLanes(
  lanes: Readonly<Record<string, LaneRule>>,
  input: EventInput,
): (type: string) => string | undefined {
  const rules = Object.entries(lanes).map(([name, { types = [], when }]) => ({
    name,
    types: new Set(types),
    matches: when === undefined ? undefined : compileCondition(when, `lanes.${name}.when`, input),
  }));
  return (type) =>
    rules.find(({ types, matches }) => types.has(type) || matches?.() === true)?.name;
}

/**
 * Compiles a condition on records. The function returns true for the result true, and false for
 * false and null. It throws MappingFailure for any other result and if the evaluation fails, so
 * that mistakes become visible as dead letters.
 * @throws RangeError for an invalid expression
 */
function compileCondition(text: string, option: string, input: EventInput): () => boolean {
  const part = new MappedPart(text, option, input);
  return () => {
    const found = part.find();
    if (isAbsent(found)) return false;
    if (found.type === LITERAL) return found.bytes[found.start] === LOWER_T;
    throw part.mismatch('mapping_failed', 'true or false', found);
  };
}

const LOWER_T = 0x74;

/** Returns a string or a number as a key, or null if the event has no such value. @throws MappingFailure */
function keyOf(part: MappedPart): Buffer | null {
  const found = part.find();
  if (isAbsent(found)) return null;
  if (found.type !== STRING && found.type !== NUMBER)
    throw part.mismatch('mapping_failed', 'a string or a number', found);
  const key = Buffer.from(found.type === STRING ? textOfString(found) : writtenText(found));
  part.limit(key.length, MAX_KEY_BYTES, 'bytes', 'of a key');
  return key;
}

/** Returns the headers with these names, in the record's order. */
function pickHeaders(headers: RecordHeaders, names: readonly string[]): RecordHeaders {
  if (names.length === 0 || headers.length === 0) return NO_HEADERS;
  return headers.filter(([name]) => names.includes(name));
}

/** Returns the memory of headers in bytes. */
function headerBytes(headers: RecordHeaders): number {
  let bytes = 0;
  for (const [name, value] of headers) bytes += 2 * (name.length + (value?.length ?? 0)) + 8;
  return bytes;
}
