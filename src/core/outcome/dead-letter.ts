/** Dead letters: unchanged source records that cannot be reviewed, with the reason in their headers. */
import {
  type Header,
  lastHeader,
  type OutgoingRecord,
  type Poison,
  type SourceCoordinate,
  type SourceRecord,
} from '../record.ts';

export const DEAD_LETTER_HEADERS = {
  reason: 'dead-letter-reason',
  message: 'dead-letter-message',
  stage: 'dead-letter-stage',
  topic: 'dead-letter-topic',
  partition: 'dead-letter-partition',
  offset: 'dead-letter-offset',
  eventId: 'event-id',
  /**
   * Size in bytes of an original value that was omitted because it is too large for the
   * dead-letter topic.
   */
  omittedBytes: 'dead-letter-value-omitted-bytes',
} as const;

/**
 * Header with the number of times that a record was replayed. If the record becomes a dead letter
 * again, it keeps this header and all others.
 */
export const REPLAYS_HEADER = 'dead-letter-replays';

/** Returns the number of times that a source record or a dead letter was replayed. */
export function replaysOf({ headers }: Pick<SourceRecord, 'headers'>): number {
  const text = String(lastHeader(headers, REPLAYS_HEADER) ?? '');
  return /^\d{1,6}$/.test(text) ? Number(text) : 0;
}

export type DeadLetterStage = 'decode' | 'create' | 'rewind' | 'settle';

/**
 * Returns the id `<topic>-<partition>-<offset>`, with `#n` after n resets of the group. It does not
 * change with retries and restarts.
 */
export function eventId(topic: string, at: SourceCoordinate, replay: number): string {
  return `${topic}-${at.partition}-${at.offset}${replay > 0 ? `#${replay}` : ''}`;
}

export interface DeadLetterContext {
  readonly topic: string;
  readonly stage: DeadLetterStage;
  readonly replay: number;
  /** Maximum size of the value; a larger one is omitted. Default: no limit. */
  readonly maxValueBytes?: number;
}

const OURS: ReadonlySet<string> = new Set(Object.values(DEAD_LETTER_HEADERS));

/** Returns true for a header that the connector adds to dead letters. */
export const isReasonHeader = ([name]: Header): boolean => OURS.has(name);

/**
 * Returns a dead letter with the key, value and headers of the original, if given. The connector's
 * headers replace headers with the same names.
 */
export function deadLetter(
  record: SourceCoordinate & Partial<Pick<SourceRecord, 'key' | 'value' | 'headers'>>,
  poison: Poison,
  { topic, stage, replay, maxValueBytes = Infinity }: DeadLetterContext,
): OutgoingRecord {
  const { partition, offset, key = null, value = null, headers = [] } = record;
  const isOmitted = value !== null && value.length > maxValueBytes;
  return {
    key,
    value: isOmitted ? null : value,
    headers: [
      ...headers.filter((header) => !isReasonHeader(header)),
      [DEAD_LETTER_HEADERS.reason, poison.reason],
      [DEAD_LETTER_HEADERS.message, poison.message],
      [DEAD_LETTER_HEADERS.stage, stage],
      [DEAD_LETTER_HEADERS.topic, topic],
      [DEAD_LETTER_HEADERS.partition, String(partition)],
      [DEAD_LETTER_HEADERS.offset, String(offset)],
      [DEAD_LETTER_HEADERS.eventId, eventId(topic, record, replay)],
      ...(isOmitted ? [[DEAD_LETTER_HEADERS.omittedBytes, String(value.length)] as const] : []),
    ],
  };
}
