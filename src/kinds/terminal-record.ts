/** Terminal records of all kinds: common members around the members of each kind. */
import { isUtf8 } from 'node:buffer';
import { DEAD_LETTER_HEADERS, eventId } from '../core/outcome/dead-letter.ts';
import type { JobContext } from '../core/ports/pipeline-kind.ts';
import type { Header, OutgoingRecord, RecordHeaders, SourceCoordinate } from '../core/record.ts';

// Common parts of terminal records: their source, and an id for deduplication.

/** Header by which consumers can deduplicate. Replaces a source header with the same name. */
const EVENT_ID_HEADER = DEAD_LETTER_HEADERS.eventId;

/** Source of a terminal record: an item, or a record that no longer exists. */
export interface TerminalSource extends SourceCoordinate {
  /** Negative if the source record has no timestamp. */
  readonly timestampMs: number;
  readonly key: Buffer | string | null;
  /** Key of the terminal record, if it differs from `key`. */
  readonly outputKey?: Buffer | string | null | undefined;
  readonly headers: RecordHeaders | undefined;
  readonly replay: number;
}

/** Returns the key of a terminal record. */
export function terminalKey({ key, outputKey }: TerminalSource): Buffer | string | null {
  return outputKey === undefined ? key : outputKey;
}

/** Latest time of a JavaScript Date, in ms. Timestamps from a producer that counts in nanoseconds exceed it. */
export const MAX_DATE_MS = 8.64e15;

/** Returns the JSON members of `source`, without braces and without the topic. */
export function sourceMembers({ partition, offset, key, timestampMs }: TerminalSource): string {
  return (
    `"partition":${partition},"offset":${offset},"key":${keyJson(key)}` +
    `,"timestamp":${timestampMs < 0 || timestampMs > MAX_DATE_MS ? 'null' : `"${new Date(timestampMs).toISOString()}"`}`
  );
}

/** Returns the headers of a terminal record: the copied headers, and the event id. */
export function terminalHeaders(headers: RecordHeaders | undefined, id: string): RecordHeaders {
  const own: Header = [EVENT_ID_HEADER, id];
  return headers === undefined
    ? [own]
    : [...headers.filter(([name]) => name !== EVENT_ID_HEADER), own];
}

/** Returns a key as JSON. Bytes that are not UTF-8 become base64, with a member that says so. */
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
 * @param topic name of the source topic
 * @param members JSON members of the kind, without braces
 * @throws RangeError if the job's time is invalid
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
    // Converts to bytes at once. A concatenated string would keep its parts alive, thousands of times per chunk.
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
