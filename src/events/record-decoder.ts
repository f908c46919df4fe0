/** A source record becomes an item, or a reason why not: what all kinds do alike around their own mapping. */
import type { KindSteps } from '../core/ports/pipeline-kind.ts';
import type { ContentItem } from '../core/record.ts';
import { EventInput } from './expression/index.ts';
import { type EventFormat, hasValue, type ValuedRecord } from './format.ts';
import { poison } from './json-event.ts';
import { poisonOf } from './mapping/mapping-failure.ts';
import { compileOutputKey } from './mapping/output-key.ts';
import { compileFilter, FILTERED } from './record-filter.ts';
import { headerBytes, pickHeaders } from './record-parts.ts';

export type Decoder = KindSteps['decode'];

export interface DecoderOptions {
  /** The source topic, for expressions that ask. */
  readonly topic: string;
  /** Which records are wanted at all. Absent: every one. */
  readonly filter?: string | undefined;
  /** The key of its terminal record. Absent: that of the source record. */
  readonly outputKey?: string | undefined;
  /** Names of the headers that travel from the event to its terminal record. */
  readonly headers: readonly string[];
  /** What becomes of a record without a value. */
  readonly nullValues: 'dead-letter' | 'skip';
}

/** What a kind makes of an event. */
export type MappedItem = Pick<ContentItem, 'type' | 'content' | 'metadata' | 'expected'> & {
  /** Memory that it takes, beside its key, its headers and the objects that hold it. */
  readonly bytes: number;
};

/** Counted per item beside its own bytes: the reference, delimiters, and the objects that hold it. */
const ITEM_OVERHEAD_BYTES = 128;

/**
 * The decoder never throws, and its messages never show what a record holds (I6).
 * @param map `again` as in `KindSteps.decode`. @throws MappingFailure
 * @throws RangeError on an expression that is none
 */
export function compileDecoder(
  { topic, filter, outputKey, headers: names, nullValues }: DecoderOptions,
  read: EventFormat['read'],
  map: (
    input: EventInput,
    record: ValuedRecord,
    again: { readonly type: string } | undefined,
  ) => MappedItem,
): Decoder {
  const withOutputKey = compileOutputKey(outputKey);
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
      if (isWanted !== undefined && again === undefined && !isWanted(input)) return FILTERED;
      const { type, content, metadata, expected, bytes } = map(input, record, again);
      const headers = pickHeaders(record.headers, names);
      const { partition, offset, timestampMs, key } = record;
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
        bytes: ITEM_OVERHEAD_BYTES + bytes + 2 * (key?.length ?? 0) + headerBytes(headers),
      };
      return { item: withOutputKey(item, input) };
    } catch (error) {
      return poisonOf(error);
    }
  };
}
