/** Reads the decisions and dead letters of a pipeline, with the coordinates of their source records. */
import { DEAD_LETTER_HEADERS } from '../../core/outcome/dead-letter.ts';
import type { RecordPiece, TopicRange } from '../../core/ports/kafka.ts';
import { lastHeader, type SourceCoordinate, type SourceRecord } from '../../core/record.ts';
import { eachAtATime, InspectError, type Inspection, isCompacted } from './context.ts';

export type TerminalKind = 'decision' | 'dead_letter';

/** Terminal record. `partition` and `offset` are the coordinates of its source record. */
export interface TerminalRecord extends SourceCoordinate {
  readonly kind: TerminalKind;
  readonly topic: string;
  readonly eventId: string;
  readonly replay: number;
  readonly record: SourceRecord;
}

/** Offsets by output partition, with keys `topic-partition`. */
export type OutputPositions = ReadonlyMap<string, number>;

interface RangeOfTopic extends TopicRange {
  readonly topic: string;
}

/** Range of offsets in one output partition. */
export interface OutputRange extends RangeOfTopic {
  readonly kind: TerminalKind;
  /** First offset that is still in the log. */
  readonly start: number;
}

/** Maximum expected difference between the clocks of a producer and the connector. */
const CLOCK_MARGIN_MS = 5 * 60_000;
/** Extra wait for expired transactions, because brokers abort them only every ten seconds. */
const ABORT_SLACK_MS = 30_000;
const NOTICE_AFTER_MS = 3_000;

/** Returns the value of one of the connector's own headers, or undefined if the record lacks it. */
export function headerText(
  { headers }: SourceRecord,
  name: keyof typeof DEAD_LETTER_HEADERS,
): string | undefined {
  const value = lastHeader(headers, DEAD_LETTER_HEADERS[name]) ?? undefined;
  return value === undefined ? undefined : String(value);
}

/** Returns the cause of a dead letter from its headers. */
export function deadLetterCause(record: SourceRecord) {
  const text = (name: keyof typeof DEAD_LETTER_HEADERS) => headerText(record, name) ?? '';
  return { reason: text('reason'), stage: text('stage'), message: text('message') };
}

/** Maximum number of different reset counts. Other programs may write event ids with any number. */
export const MAX_RESETS = 1_000;

/** Parses an event id. Returns undefined for the id of another topic. */
export function parseEventId(
  eventId: string | undefined,
  topic: string,
): (SourceCoordinate & { readonly replay: number }) | undefined {
  if (eventId === undefined || !eventId.startsWith(`${topic}-`)) return undefined;
  const match = /^(\d+)-(\d+)(?:#(\d{1,15}))?$/.exec(eventId.slice(topic.length + 1));
  if (match === null) return undefined;
  const [, partition, offset, replay = '0'] = match;
  return { partition: Number(partition), offset: Number(offset), replay: Number(replay) };
}

/**
 * Returns the output partitions from the first record at or after `sinceMs` (default: from the
 * beginning) to their current ends. If the journal was read first, the terminal records of all
 * settled records are below these ends, because they were acknowledged before the commit in the
 * journal.
 * @param readTo ends of an earlier reading; the ranges start at these offsets or before them
 */
export async function outputRanges(
  { scan, pipeline }: Inspection,
  sinceMs?: number,
  readTo?: OutputPositions,
): Promise<OutputRange[]> {
  const { decisions, deadLetters } = pipeline.topics;
  const ranges: OutputRange[] = [];
  for (const [kind, topic] of [
    ['decision', decisions],
    ['dead_letter', deadLetters],
  ] as const) {
    const bounds = await scan.bounds(topic);
    const first =
      sinceMs === undefined ? undefined : await scan.firstAt(topic, sinceMs - CLOCK_MARGIN_MS);
    for (const [partition, { start, end }] of bounds) {
      const since = first?.get(partition) ?? start;
      const next = readTo?.get(`${topic}-${partition}`) ?? end;
      const from = Math.min(Math.max(Math.min(since, next), start), end);
      ranges.push({ kind, topic, partition, start, from, until: end });
    }
  }
  return ranges;
}

/** Returns ranges with the committed records of a topic at or after `sinceMs` and before `untilMs` (default: the end). */
export async function rangesBetween(
  { scan }: Inspection,
  topic: string,
  sinceMs: number,
  untilMs?: number,
): Promise<RangeOfTopic[]> {
  const bounds = await scan.bounds(topic);
  const first = await scan.firstAt(topic, sinceMs);
  const last = untilMs === undefined ? undefined : await scan.firstAt(topic, untilMs);
  return [...bounds]
    .map(([partition, { start, stable }]) => ({
      topic,
      partition,
      from: Math.max(first.get(partition) ?? start, start),
      until: Math.min(last?.get(partition) ?? stable, stable),
    }))
    .filter(({ from, until }) => from < until);
}

/** Called with each terminal record. It may return a promise, or `enough` to end the scan. */
export type OnTerminal = (terminal: TerminalRecord) => 'enough' | undefined | Promise<undefined>;

/**
 * Reads the pipeline's terminal records in these ranges, a few partitions at a time.
 * @returns the number of offsets read
 * @throws InspectError `unreachable` if an open transaction blocks reading for too long
 */
export async function scanTerminals(
  inspection: Inspection,
  ranges: readonly OutputRange[],
  onTerminal: OnTerminal,
  onProgress: (state: ReadProgress) => void = () => {},
  onUnreadable: (offsets: number) => void = () => {},
): Promise<number> {
  const { pipeline } = inspection;
  const enough = new AbortController();
  let offsets = 0;
  const onPiece = async ({ records, unreadable }: RecordPiece, { kind, topic }: OutputRange) => {
    if (unreadable !== undefined) onUnreadable(unreadable.to - unreadable.from);
    for (const record of records) {
      const eventId = headerText(record, 'eventId');
      const at = parseEventId(eventId, pipeline.topics.source);
      // The record was written by another pipeline or application.
      if (eventId === undefined || at === undefined) continue;
      const answer = onTerminal({ kind, topic, eventId, ...at, record });
      // Promises are rare, and awaiting every result would take longer than the rest of the loop.
      if ((answer instanceof Promise ? await answer : answer) === 'enough') enough.abort();
    }
  };
  try {
    const progressed = (state: ReadProgress) => {
      offsets = state.done;
      onProgress(state);
    };
    await readRanges(inspection, ranges, onPiece, progressed, enough.signal);
  } catch (error) {
    if (!enough.signal.aborted) throw error;
  }
  return offsets;
}

/** Progress of a reading, in numbers of offsets. */
export interface ReadProgress {
  readonly done: number;
  readonly total: number;
}

/**
 * Reads ranges like `TopicScan.read`, a few partitions at a time. If one makes no progress, reports
 * that and later gives up.
 * @throws InspectError `unreachable` if an open transaction blocks reading for too long
 */
export async function readRanges<R extends RangeOfTopic>(
  inspection: Inspection,
  ranges: readonly R[],
  onPiece: (piece: RecordPiece, range: R) => Promise<void>,
  onProgress: (state: ReadProgress) => void,
  signal = inspection.signal,
): Promise<void> {
  const total = ranges.reduce((sum, { from, until }) => sum + until - from, 0);
  let done = 0;
  await eachAtATime(ranges, async (range) => {
    const { topic, partition, until } = range;
    const guard = stallGuard(inspection, `${topic}-${partition}`);
    let position = range.from;
    try {
      await inspection.scan.read(
        topic,
        range,
        async (piece) => {
          guard.stop();
          if (piece.unreadable !== undefined) {
            const { from, to, poison } = piece.unreadable;
            inspection.notice(
              `${topic}-${partition}: offsets ${from} to ${to - 1} cannot be read and are not counted: ${poison.message}`,
            );
          }
          await onPiece(piece, range);
          guard.restart();
          const next = Math.min(piece.nextOffset, until);
          done += next - position;
          position = next;
          onProgress({ done, total });
        },
        AbortSignal.any([inspection.signal, guard.signal, signal]),
      );
    } catch (error) {
      throw guard.signal.aborted ? guard.signal.reason : error;
    } finally {
      guard.stop();
    }
  });
}

/** Reports a read that makes no progress, and aborts it after the maximum time of a connector's transaction. */
function stallGuard({ clock, notice, pipeline }: Inspection, where: string) {
  const limitMs = pipeline.transactionTimeoutMs + ABORT_SLACK_MS;
  const limit = `${Math.ceil(limitMs / 1000)} s`;
  const stalled = new AbortController();
  let cancel = () => {};
  const stop = () => cancel();
  const restart = () => {
    cancel();
    cancel = clock.after(NOTICE_AFTER_MS, () => {
      notice(`waiting for an open transaction on ${where} (at most ${limit})`);
      cancel = clock.after(limitMs, () =>
        stalled.abort(
          new InspectError(
            'unreachable',
            `no progress on ${where} for ${limit}: a transaction is open there (kafka-transactions.sh find-hanging), or its leader does not respond`,
          ),
        ),
      );
    });
  };
  restart();
  return { signal: stalled.signal, stop, restart };
}

/** Returns the timestamp of the first record at or after `from`, or undefined if there is none below `until`. */
export async function firstTimestamp(
  { scan, signal }: Inspection,
  topic: string,
  range: TopicRange,
): Promise<number | undefined> {
  const enough = new AbortController();
  let found: number | undefined;
  try {
    await scan.read(
      topic,
      range,
      ({ records: [first], unreadable }) => {
        found ??= (first ?? unreadable)?.timestampMs;
        if (found !== undefined) enough.abort();
      },
      AbortSignal.any([signal, enough.signal]),
    );
  } catch (error) {
    if (found === undefined) throw error;
  }
  return found;
}

/** Limits of the evidence in the output topics, which may have lost terminal records. */
export interface OutputGaps {
  /** Time in ms before which retention may have removed terminal records. -Infinity if it removed none. */
  readonly completeSinceMs: number;
  /** True if a newer record with the same key may have replaced a terminal record. */
  readonly compacted: boolean;
}

export const NO_GAPS: OutputGaps = { completeSinceMs: -Infinity, compacted: false };

/** Reads the outputs. If they are read from their beginning, also determines which terminal records may be lost. */
export async function readOutputs(
  inspection: Inspection,
  sinceMs: number | undefined,
  onTerminal: OnTerminal,
  readTo?: OutputPositions,
) {
  const ranges = await outputRanges(inspection, sinceMs, readTo);
  const offsets = await scanTerminals(inspection, ranges, onTerminal);
  const ends = new Map(
    ranges.map(({ topic, partition, until }) => [`${topic}-${partition}`, until]),
  );
  const whole = ranges.every(({ start, from }) => start === from);
  if (!whole) return { offsets, whole, ends, gaps: NO_GAPS };

  // Determined after the reading, because retention may have removed records during it.
  const { decisions, deadLetters } = inspection.pipeline.topics;
  let completeSinceMs = -Infinity;
  for (const range of await outputRanges(inspection)) {
    if (range.start === 0) continue;
    const oldestMs = await firstTimestamp(inspection, range.topic, range);
    // The margin is needed because a producer's clock may be ahead, so that a record seems younger.
    completeSinceMs = Math.max(completeSinceMs, (oldestMs ?? Infinity) + CLOCK_MARGIN_MS);
  }
  const compacted =
    (await isCompacted(inspection, decisions)) || (await isCompacted(inspection, deadLetters));
  return { offsets, whole, ends, gaps: { completeSinceMs, compacted } };
}

interface OutputReading {
  /** True if the outputs were read from their beginning. */
  readonly whole: boolean;
  readonly doubt: 'missing' | 'unknown' | undefined;
}

/**
 * Repeats a reading until records are proven to be missing. If any seem so, first reads the outputs
 * from their beginning, because a producer's timestamp may be ahead. Then reads once more, because
 * compaction and retention may hide records of the journal and the outputs during a reading.
 * @param read called with the previous reading if that had missing records
 */
export async function readUntilProven<T extends OutputReading>(
  { notice }: Inspection,
  read: (whole: boolean, before?: T) => Promise<T>,
): Promise<T> {
  let reading = await read(false);
  if (reading.doubt !== undefined && !reading.whole) {
    notice('some records seem to be missing: reading the outputs from their beginning');
    reading = await read(true);
  }
  if (reading.doubt !== 'missing') return reading;
  notice('some records seem to be missing: reading again to be sure');
  return await read(true, reading);
}
