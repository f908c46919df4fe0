/** Terminal records of all kinds: their common members, around the members of the kind. */
import { eventId } from '../core/outcome/dead-letter.ts';
import type { JobContext } from '../core/ports/pipeline-kind.ts';
import type { OutgoingRecord } from '../core/record.ts';
import {
  sourceMembers,
  type TerminalSource,
  terminalHeaders,
  terminalKey,
} from './terminal-parts.ts';

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
