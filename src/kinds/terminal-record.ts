/** Terminal records of all kinds: their common members, around the members of the kind. */
import { isUtf8 } from 'node:buffer';
import { DEAD_LETTER_HEADERS, eventId } from '../core/outcome/dead-letter.ts';
import type { JobContext } from '../core/ports/pipeline-kind.ts';
import type { Header, OutgoingRecord, RecordHeaders, SourceCoordinate } from '../core/record.ts';

// Parts that the terminal records of all kinds share: their source, and an id to deduplicate by.

/** Header for consumers that deduplicate. A source header of this name is replaced. */
const EVENT_ID_HEADER = DEAD_LETTER_HEADERS.eventId;

/** Source of a terminal record: an item, or a record that is gone. */
export interface TerminalSource extends SourceCoordinate {
  /** Negative when the source record has none. */
  readonly timestampMs: number;
  readonly key: Buffer | string | null;
  /** Key of the terminal record, where it is another. */
  readonly outputKey?: Buffer | string | null | undefined;
  readonly headers: RecordHeaders | undefined;
  readonly replay: number;
}

/** The key of a terminal record. */
export function terminalKey({ key, outputKey }: TerminalSource): Buffer | string | null {
  return outputKey === undefined ? key : outputKey;
}

/** Latest instant that a date can hold, ms. A producer that counts in nanoseconds is beyond it. */
export const MAX_DATE_MS = 8.64e15;

/** JSON members of `source`, without its braces and its topic. */
export function sourceMembers({ partition, offset, key, timestampMs }: TerminalSource): string {
  return (
    `"partition":${partition},"offset":${offset},"key":${keyJson(key)}` +
    `,"timestamp":${timestampMs < 0 || timestampMs > MAX_DATE_MS ? 'null' : `"${new Date(timestampMs).toISOString()}"`}`
  );
}

/** The headers of a terminal record: those that travel, and the event id. */
export function terminalHeaders(headers: RecordHeaders | undefined, id: string): RecordHeaders {
  const own: Header = [EVENT_ID_HEADER, id];
  return headers === undefined
    ? [own]
    : [...headers.filter(([name]) => name !== EVENT_ID_HEADER), own];
}

/** A key that is not text becomes base64, with a member that marks it. */
export function keyJson(key: Buffer | string | null): string {
  if (key === null) return 'null';
  if (typeof key === 'string') return JSON.stringify(key);
  if (isUtf8(key)) return JSON.stringify(key.toString('utf8'));
  return `"${key.toString('base64')}","key_encoding":"base64"`;
}

/** Error of a terminal record with status ERROR. */
export interface RecordError {
  readonly code: string;
  readonly message: string;
}

/**
 * Assembles a terminal record.
 * @param topic the source topic @param members JSON members of the kind, without braces
 * @throws RangeError when the time of the job is invalid
 */
export function terminalRecord(
  topic: string,
  source: TerminalSource,
  members: string,
  { decidedAtMs }: JobContext,
): OutgoingRecord {
  const id = eventId(topic, source, source.replay);
  const value =
    `{"id":${JSON.stringify(id)},${members},"source":{"topic":${JSON.stringify(topic)}` +
    `,${sourceMembers(source)}},"decided_at":"${new Date(decidedAtMs).toISOString()}"}`;
  return {
    key: terminalKey(source),
    // Bytes at once: a concatenated string keeps all its parts alive, thousands of times in a chunk.
    value: Buffer.from(value),
    headers: terminalHeaders(source.headers, id),
  };
}

/** Returns the JSON of an `error` member. */
export function errorJson(error: RecordError | undefined): string {
  if (error === undefined) return 'null';
  const { code, message } = error;
  return JSON.stringify({ code, message });
}
