/** A source record becomes the id of a decision to look up, or a reason why not. */
import { isUtf8 } from 'node:buffer';
import type { KindSteps } from '../core/ports/pipeline-kind.ts';
import { type EventFormat, hasValue } from '../event/format.ts';
import { jsonFormat, nameOf, poison } from '../event/json-event.ts';
import { parsePath, valueAt } from '../event/path.ts';
import { headerBytes, ownKey, pickHeaders } from '../event/record-parts.ts';

export interface LookupMapping {
  /** How values are written. Default JSON. */
  readonly format?: EventFormat;
  /** Path of the id in an event; undefined: the whole value is the id. */
  readonly decisionId: string | undefined;
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

/** Builds the decoder of one mapping. It never throws, and its messages never show what a record holds (I6). @throws RangeError on a path that cannot work */
export function createLookupDecoder(mapping: LookupMapping): KindSteps['decode'] {
  const { decisionId, headers: names, nullValues, format = jsonFormat } = mapping;
  const idPath = decisionId === undefined ? undefined : parsePath(decisionId);
  const what = decisionId === undefined ? 'the value' : `"${decisionId}"`;
  return (record, replay, again) => {
    const { partition, offset, timestampMs, key } = record;
    if (!hasValue(record)) {
      if (nullValues === 'skip' && again === undefined) return { skip: 'null_value' };
      return poison('null_value', 'the record has no value');
    }
    let id: unknown;
    if (idPath === undefined) {
      if (!isUtf8(record.value)) return poison('no_content', 'the value is no decision id: its bytes are not UTF-8');
      id = record.value.toString('utf8').trim();
    } else {
      const { event, poison: unreadable } = format.read(record);
      if (event === undefined) return { poison: unreadable };
      id = valueAt(event.document, idPath);
    }
    if (typeof id !== 'string') return poison('no_content', `${what} must be a string, but is ${nameOf(id)}`);
    if (id === '') return poison('empty_content', `${what} is empty, and must be a decision id`);
    if (id === '.' || id === '..' || !id.isWellFormed() || /\p{Cc}/u.test(id)) {
      return poison('no_content', `${what} is no decision id: it cannot stand in an address`);
    }
    if (id.length > MAX_ID_LENGTH) {
      return poison(
        'too_large',
        `${what} has ${id.length} characters, more than the ${MAX_ID_LENGTH} that a decision id may have`,
      );
    }
    const headers = pickHeaders(record.headers, names);
    const bytes = ITEM_OVERHEAD_BYTES + id.length + 2 * (key?.length ?? 0) + headerBytes(headers);
    return {
      item: {
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
      },
    };
  };
}
