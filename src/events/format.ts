/** Formats of source record values: JSON, Avro, CloudEvents, … They are implemented in events/formats. */
import { isUtf8 } from 'node:buffer';
import type { JsonPlace } from '../../packages/client/src/base/json/json-text.ts';
import { stringSize, writeString } from '../../packages/client/src/base/json/json-writer.ts';
import { valueLengthOf, valuePlaceOf } from '../core/bytes/record-view.ts';
import type { DeadLetterReason } from '../core/outcome/dead-letter-reason.ts';
import type { Poison, SourceRecord } from '../core/record.ts';

/**
 * JSON text of an event: the record's value, a part of it, or JSON generated from it. The JSON may
 * be invalid. Its numbers have all their digits.
 */
export type ReadEvent =
  | (JsonPlace & { readonly poison?: never })
  | { readonly bytes?: never; readonly poison: Poison };

/** A record that has a value. */
export type ValuedRecord = SourceRecord & { readonly value: Buffer };

export function hasValue(record: SourceRecord): record is ValuedRecord {
  return valueLengthOf(record) >= 0;
}

export interface EventFormat {
  /**
   * Loads the schemas of these records, so that `read` need not wait. Returns undefined if none is
   * missing. Keeps trying while the registry is unreachable. Rejects only with the signal's reason.
   */
  prepare?(records: readonly SourceRecord[], signal: AbortSignal): Promise<void> | undefined;
  /** Returns the maximum cost of `read`. Absent if `read` allocates nothing and returns a part of the value. */
  cost?(record: ValuedRecord): FormatCost;
  /** Reads a record for which `prepare` has nothing left to load. */
  read(record: ValuedRecord): ReadEvent;
}

export interface FormatCost {
  /** Maximum memory in bytes, including the JSON text but not the record. */
  readonly memory: number;
  /** Maximum length of the JSON text in bytes. */
  readonly text: number;
  /** Maximum number of members and elements of the JSON text. Counts only if expressions need them. */
  readonly values: number;
}

/** Returns the cost of JSON that is part of the value. @param length size of the value in bytes */
export function jsonCost(length: number): FormatCost {
  // An element takes at least two bytes, including its comma.
  return { memory: 0, text: length, values: length / 2 };
}

/** Format of values that are JSON objects. */
export const jsonFormat: EventFormat = { read: valuePlaceOf };

export function poison(reason: DeadLetterReason, message: string): { readonly poison: Poison } {
  return { poison: { reason, message } };
}

/** Returns a header or a key as text, or undefined if there is none or its bytes are not UTF-8. */
export function textOf(value: Buffer | string | null | undefined): string | undefined {
  if (typeof value === 'string') return value;
  return value && isUtf8(value) ? value.toString('utf8') : undefined;
}

// Values that are unstructured text.

const BEFORE = Buffer.from('{"content":');
const END = Buffer.from('}');

/** Reads plain text as the event `{content: TEXT}`, so that the default mapping finds it. */
export const textFormat: EventFormat = {
  cost: textCost,
  read(record) {
    const { bytes, start, end } = valuePlaceOf(record);
    return (
      contentEvent(bytes, start, end) ??
      poison('undecodable', 'the value is not text: its bytes are not UTF-8')
    );
  },
};

/** Maximum number of JSON bytes per byte of text: a control character takes six. */
export const ESCAPED_BYTES = 6;

/** Returns the cost of `contentEvent` for the value of a record. */
export function textCost(record: SourceRecord): FormatCost {
  const bytes = ESCAPED_BYTES * valueLengthOf(record) + BEFORE.length + END.length + 2;
  return { memory: bytes, text: bytes, values: 1 };
}

/** Returns the event `{content: TEXT}`, or undefined if the bytes are not UTF-8. */
export function contentEvent(bytes: Buffer, start: number, end: number): ReadEvent | undefined {
  const size = stringSize(bytes, start, end);
  if (size === undefined) return undefined;
  const event = Buffer.allocUnsafe(BEFORE.length + size + END.length);
  BEFORE.copy(event);
  const at = writeString(event, BEFORE.length, bytes, start, end);
  END.copy(event, at);
  return { bytes: event, start: 0, end: event.length };
}
