/** Formats of the values of source records: JSON, Avro, CloudEvents, … They are in events/formats. */
import { isUtf8 } from 'node:buffer';
import type { JsonPlace } from '../../packages/client/src/base/json/json-text.ts';
import { stringSize, writeString } from '../../packages/client/src/base/json/json-writer.ts';
import { valueLengthOf, valuePlaceOf } from '../core/bytes/record-view.ts';
import type { DeadLetterReason } from '../core/outcome/dead-letter-reason.ts';
import type { Poison, SourceRecord } from '../core/record.ts';

/**
 * JSON text of a value: the value itself, a part of it, or a text made from it. The text need not
 * be valid; its numbers have all their digits.
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
   * Loads the schemas of these records, so that `read` need not wait; undefined when none is
   * missing. While the registry cannot be reached it keeps trying; the promise only rejects with
   * the signal's reason.
   */
  prepare?(records: readonly SourceRecord[], signal: AbortSignal): Promise<void> | undefined;
  /**
   * Returns the reason why no value of a schema can be read, if that is certain. Waits for the
   * registry as `prepare` does.
   * @throws Error when the registry does not know it, and the signal's reason
   */
  judge?(schemaId: number, signal: AbortSignal): Promise<string | undefined>;
  /** Greatest cost of `read`. Absent: it makes nothing, and returns a part of the value. */
  cost?(record: ValuedRecord): FormatCost;
  /** Reads a record, for which `prepare` has nothing to load. */
  read(record: ValuedRecord): ReadEvent;
}

export interface FormatCost {
  /** Greatest memory in addition to the record, bytes; includes the text. */
  readonly memory: number;
  /** Greatest length of the text, bytes. */
  readonly text: number;
  /** Greatest number of members and elements of the text, if expressions need them. */
  readonly values: number;
}

/** Returns the cost of a text that is part of the value. @param length of the value, bytes */
export function jsonCost(length: number): FormatCost {
  // An element takes two bytes, with its comma.
  return { memory: 0, text: length, values: length / 2 };
}

/** Values that are JSON objects. */
export const jsonFormat: EventFormat = { read: valuePlaceOf };

export function poison(reason: DeadLetterReason, message: string): { readonly poison: Poison } {
  return { poison: { reason, message } };
}

/** Returns a header or a key as text; undefined when there is none, and for bytes that are not text. */
export function textOf(value: Buffer | string | null | undefined): string | undefined {
  if (typeof value === 'string') return value;
  return value && isUtf8(value) ? value.toString('utf8') : undefined;
}

// Values that are text, without a structure.

const BEFORE = Buffer.from('{"content":');
const END = Buffer.from('}');

/** The event of a text is `{content: TEXT}`, so that the default mapping finds it. */
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

/** Greatest bytes of a byte of text in JSON: a control character. */
export const ESCAPED_BYTES = 6;

/** Returns the cost of `contentEvent` for the value of a record. */
export function textCost(record: SourceRecord): FormatCost {
  const bytes = ESCAPED_BYTES * valueLengthOf(record) + BEFORE.length + END.length + 2;
  return { memory: bytes, text: bytes, values: 1 };
}

/** Returns the event `{content: TEXT}`; undefined if the bytes are not UTF-8. */
export function contentEvent(bytes: Buffer, start: number, end: number): ReadEvent | undefined {
  const size = stringSize(bytes, start, end);
  if (size === undefined) return undefined;
  const event = Buffer.allocUnsafe(BEFORE.length + size + END.length);
  BEFORE.copy(event);
  const at = writeString(event, BEFORE.length, bytes, start, end);
  END.copy(event, at);
  return { bytes: event, start: 0, end: event.length };
}
