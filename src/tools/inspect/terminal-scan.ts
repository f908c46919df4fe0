/** Decisions and dead letters of a pipeline, found by the source record that they answer for. */
import { DEAD_LETTER_HEADERS } from '../../core/outcome/dead-letter.ts';
import type { UnreadableRecords } from '../../core/ports/kafka.ts';
import type { PartitionBounds } from '../../core/ports/topic-scan.ts';
import { lastHeader, type SourceRecord } from '../../core/record.ts';
import { eachAtATime, InspectError, type Inspection, PARTITIONS_AT_A_TIME } from './context.ts';

export type TerminalKind = 'decision' | 'dead_letter';

export interface TerminalRecord {
  readonly kind: TerminalKind;
  readonly eventId: string;
  /** Of the source record. */
  readonly partition: number;
  readonly offset: number;
  readonly replay: number;
  readonly record: SourceRecord;
}

/** A part of one output partition, [from, until). */
export interface OutputRange {
  readonly kind: TerminalKind;
  readonly topic: string;
  readonly partition: number;
  readonly from: number;
  readonly until: number;
}

/** Records are published after the event that they answer: clocks of producers and connector may differ by this much. */
export const CLOCK_MARGIN_MS = 5 * 60_000;
/** Beyond a transaction's timeout: the broker looks for old transactions every ten seconds. */
const ABORT_SLACK_MS = 30_000;

/** The text of one of the connector's own headers; undefined when the record has none. */
export function headerText(
  { headers }: SourceRecord,
  name: keyof typeof DEAD_LETTER_HEADERS,
): string | undefined {
  const value = lastHeader(headers, DEAD_LETTER_HEADERS[name]) ?? undefined;
  return value === undefined ? undefined : String(value);
}

/** Which source record an event id names; undefined when it is another topic's. */
export function parseEventId(
  eventId: string | undefined,
  topic: string,
): { readonly partition: number; readonly offset: number; readonly replay: number } | undefined {
  if (eventId === undefined || !eventId.startsWith(`${topic}-`)) return undefined;
  const match = /^(\d+)-(\d+)(?:#(\d+))?$/.exec(eventId.slice(topic.length + 1));
  if (match === null) return undefined;
  const [, partition, offset, replay = '0'] = match;
  return { partition: Number(partition), offset: Number(offset), replay: Number(replay) };
}

/** undefined for a record of another pipeline or application. */
export function readTerminal(
  kind: TerminalKind,
  record: SourceRecord,
  topic: string,
): TerminalRecord | undefined {
  const eventId = headerText(record, 'eventId');
  const at = parseEventId(eventId, topic);
  return at === undefined ? undefined : { kind, eventId: eventId as string, ...at, record };
}

export interface Outputs {
  readonly decisions: ReadonlyMap<number, PartitionBounds>;
  readonly deadLetters: ReadonlyMap<number, PartitionBounds>;
}

/**
 * The outputs' bounds now. Asked after the journal was read, everything that the journal says is settled lies below `end`:
 * its records were acknowledged before the commit that the journal shows.
 */
export async function outputBounds({ scan, pipeline }: Inspection): Promise<Outputs> {
  const [decisions, deadLetters] = await Promise.all([
    scan.bounds(pipeline.topics.decisions),
    scan.bounds(pipeline.topics.deadLetters),
  ]);
  return { decisions, deadLetters };
}

/** The output partitions from the first record not older than `sinceMs` (undefined: from the beginning) to their ends. */
export async function rangesSince(
  { scan, pipeline }: Inspection,
  outputs: Outputs,
  sinceMs: number | undefined,
): Promise<OutputRange[]> {
  const { decisions, deadLetters } = pipeline.topics;
  const ranges: OutputRange[] = [];
  for (const [kind, topic, bounds] of [
    ['decision', decisions, outputs.decisions],
    ['dead_letter', deadLetters, outputs.deadLetters],
  ] as const) {
    const first =
      sinceMs === undefined ? undefined : await scan.firstAt(topic, sinceMs - CLOCK_MARGIN_MS);
    for (const [partition, { start, end }] of bounds) {
      const from = Math.min(Math.max(first?.get(partition) ?? start, start), end);
      ranges.push({ kind, topic, partition, from, until: end });
    }
  }
  return ranges;
}

/** What `ranges` leave out at the beginning of their partitions. */
export function rangesBefore(outputs: Outputs, ranges: readonly OutputRange[]): OutputRange[] {
  return ranges.flatMap((range) => {
    const bounds = range.kind === 'decision' ? outputs.decisions : outputs.deadLetters;
    const start = bounds.get(range.partition)?.start ?? 0;
    return start < range.from ? [{ ...range, from: start, until: range.from }] : [];
  });
}

/** Takes the next terminal record; may wait. `enough` ends the scan. */
export type FoundTerminalRecord = (
  terminal: TerminalRecord,
) => 'enough' | undefined | Promise<undefined>;

/**
 * Reads the pipeline's terminal records in these ranges, a few partitions at a time.
 * @returns how far each range was read.
 * @throws InspectError `unreachable` when somebody's open transaction holds readers back for longer than it may.
 */
export async function scanTerminals(
  inspection: Inspection,
  ranges: readonly OutputRange[],
  found: FoundTerminalRecord,
): Promise<OutputRange[]> {
  const { scan, pipeline } = inspection;
  const enough = new AbortController();
  const signal = AbortSignal.any([inspection.signal, enough.signal]);
  const passed = ranges.map((range) => ({ ...range, until: range.from }));
  await eachAtATime(ranges.keys(), PARTITIONS_AT_A_TIME, async (index) => {
    const { kind, topic, partition, from, until } = ranges[index] as OutputRange;
    const progress = passed[index] as { until: number };
    const guard = new OpenTransactionGuard(inspection, topic, partition);
    try {
      await scan.read(
        topic,
        { partition, from, until },
        async ({ records, unreadable, nextOffset }) => {
          guard.end();
          if (unreadable !== undefined)
            inspection.notice(unreadableOutput(topic, partition, unreadable));
          progress.until = Math.min(nextOffset, until);
          for (const record of records) {
            const terminal = readTerminal(kind, record, pipeline.topics.source);
            const answer = terminal === undefined ? undefined : found(terminal);
            // Almost always plain: awaiting each would cost more than the rest.
            if ((answer instanceof Promise ? await answer : answer) === 'enough')
              enough.abort(new Error('found'));
          }
          guard.moved();
        },
        AbortSignal.any([signal, guard.signal]),
      );
    } catch (error) {
      if (!enough.signal.aborted) throw guard.signal.aborted ? guard.signal.reason : error;
    } finally {
      guard.end();
    }
  });
  return passed;
}

function unreadableOutput(
  topic: string,
  partition: number,
  { from, to, poison }: UnreadableRecords,
): string {
  return `${topic}-${partition}: what stands at offsets ${from} to ${to - 1} cannot be read and is not counted: ${poison.message}`;
}

/** Says so when a read stands still, and gives up when it does so for longer than a transaction of the connector can last. */
class OpenTransactionGuard {
  readonly #inspection: Inspection;
  readonly #where: string;
  readonly #controller = new AbortController();
  #cancel: (() => void)[] = [];

  constructor(inspection: Inspection, topic: string, partition: number) {
    this.#inspection = inspection;
    this.#where = `${topic}-${partition}`;
    this.moved();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  moved(): void {
    this.end();
    const { clock, notice, pipeline } = this.#inspection;
    const limitMs = pipeline.transactionTimeoutMs + ABORT_SLACK_MS;
    const tell = () =>
      notice(
        `waiting for an open transaction on ${this.#where} (at most ${Math.ceil(limitMs / 1000)} s)`,
      );
    const giveUp = () =>
      this.#controller.abort(
        new InspectError(
          'unreachable',
          `${this.#where} could not be read further for ${Math.ceil(limitMs / 1000)} s: a transaction is open there (kafka-transactions.sh find-hanging), or its leader does not answer`,
        ),
      );
    this.#cancel = [clock.after(NOTICE_AFTER_MS, tell), clock.after(limitMs, giveUp)];
  }

  end(): void {
    for (const cancel of this.#cancel) cancel();
    this.#cancel = [];
  }
}

const NOTICE_AFTER_MS = 3_000;

/** Timestamp of the first record at or after `from`; undefined when there is none below `until`. */
export async function firstTimestamp(
  { scan, signal }: Inspection,
  topic: string,
  range: { readonly partition: number; readonly from: number; readonly until: number },
): Promise<number | undefined> {
  const enough = new AbortController();
  let found: number | undefined;
  await scan
    .read(
      topic,
      range,
      ({ records: [first], unreadable }) => {
        const { timestampMs } = first ?? unreadable ?? {};
        if (timestampMs === undefined) return;
        found ??= timestampMs;
        enough.abort(new Error('found'));
      },
      AbortSignal.any([signal, enough.signal]),
    )
    .catch((error: unknown) => {
      if (found === undefined) throw error;
    });
  return found;
}
