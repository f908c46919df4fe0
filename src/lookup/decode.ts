/** A source record becomes the id of a decision to look up, or a reason why not. */
import { isUtf8 } from 'node:buffer';
import type { KindSteps } from '../core/ports/pipeline-kind.ts';
import type { ContentItem } from '../core/record.ts';
import { EventInput, typeOfFound } from '../event/expression/index.ts';
import { type EventFormat, hasValue, type ReadEvent, type ValuedRecord } from '../event/format.ts';
import { jsonFormat, poison } from '../event/json-event.ts';
import { MappedPart, poisonOf } from '../event/mapping-failure.ts';
import { compileOutputKey } from '../event/output-key.ts';
import { compileFilter, FILTERED } from '../event/record-filter.ts';
import { headerBytes, ownKey, pickHeaders } from '../event/record-parts.ts';

/** Texts are expressions (docs/mapping.md). */
export interface LookupMapping {
  /** How values are written. Default JSON. */
  readonly format?: EventFormat;
  /** The source topic, for expressions that ask. */
  readonly topic: string;
  /** Which records are looked up at all. Absent: every one. */
  readonly filter?: string | undefined;
  /** The id in an event; undefined: the whole value is the id, and its event is `{content: ID}`. */
  readonly decisionId: string | undefined;
  /** The key of its terminal record. Absent: that of the source record. */
  readonly outputKey?: string | undefined;
  /** Names of the headers that travel from the event to what was found. */
  readonly headers: readonly string[];
  /** What becomes of a record without a value. */
  readonly nullValues: 'dead-letter' | 'skip';
}

/** Lookups have no content type. */
export const LOOKUP_TYPE = 'lookup';

/** Counted per item beside its own bytes: the objects that hold it. */
const ITEM_OVERHEAD_BYTES = 128;
/** An id is part of an address. */
const MAX_ID_LENGTH = 1024;

/**
 * Builds the decoder of one mapping. It never throws, and its messages never show what a record holds (I6).
 * @throws RangeError on an expression that is none
 */
export function createLookupDecoder(mapping: LookupMapping): KindSteps['decode'] {
  const { decisionId, headers: names, nullValues, format = jsonFormat, topic } = mapping;
  const withOutputKey = compileOutputKey(mapping.outputKey);
  const filter = mapping.filter === undefined ? undefined : compileFilter(mapping.filter);
  const part = new MappedPart(decisionId ?? 'content', 'source.mapping.decisionId');
  const read = decisionId === undefined ? readWhole : (record: ValuedRecord) => format.read(record);

  function idOf(input: EventInput): string {
    const id = part.find(input);
    if (typeof id !== 'string') throw part.failure('no_content', `must be a string, but is ${typeOfFound(id)}`);
    if (id === '') throw part.failure('empty_content', 'is empty, and must be a decision id');
    if (id === '.' || id === '..' || !id.isWellFormed() || /\p{Cc}/u.test(id)) {
      throw part.failure('no_content', 'is no decision id: it cannot stand in an address');
    }
    if (id.length > MAX_ID_LENGTH) {
      throw part.failure('too_large', `has ${id.length} characters, more than the ${MAX_ID_LENGTH} that a decision id may have`);
    }
    return id;
  }

  return (record, replay, again) => {
    const { partition, offset, timestampMs, key } = record;
    if (!hasValue(record)) {
      if (nullValues === 'skip' && again === undefined) return { skip: 'null_value' };
      return poison('null_value', 'the record has no value');
    }
    const { event, poison: unreadable } = read(record);
    if (event === undefined) return { poison: unreadable };
    const input = new EventInput(event, record, topic);
    try {
      if (filter !== undefined && again === undefined && !filter(input)) return FILTERED;
      const id = idOf(input);
      const headers = pickHeaders(record.headers, names);
      const bytes = ITEM_OVERHEAD_BYTES + id.length + 2 * (key?.length ?? 0) + headerBytes(headers);
      const item: ContentItem = {
        partition,
        offset,
        timestampMs,
        key: ownKey(key),
        headers,
        type: LOOKUP_TYPE,
        content: id,
        metadata: {},
        expected: undefined,
        replay,
        bytes,
      };
      return { item: withOutputKey(item, input) };
    } catch (error) {
      return poisonOf(error);
    }
  };
}

function readWhole({ value }: ValuedRecord): ReadEvent {
  if (!isUtf8(value)) return poison('no_content', 'the value is no decision id: its bytes are not UTF-8');
  const document = { content: value.toString('utf8').trim() };
  return { event: { document, exact: () => document } };
}
