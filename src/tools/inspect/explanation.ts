/** Report about one source record, and its summary. */
import type { SourceCoordinate } from '../../core/record.ts';
import type { RemoteBatch } from './context.ts';
import type { ShownDecision } from './decision-value.ts';
import type { deadLetterCause, TerminalKind } from './outputs.ts';
import { type ReportedJob, waitsFor } from './remote-jobs.ts';

export type RecordState =
  /** In no job yet: `not_read`, or read and in a buffer. */
  | 'not_read'
  | 'buffered'
  | 'in_review'
  | 'decided'
  | 'dead_lettered'
  /** Not the pipeline's: excluded by nullValues or filter, skipped by a reset, older than the pipeline. */
  | 'skipped'
  | 'passed_over'
  | 'before_start'
  /** No committed record has this offset. */
  | 'no_record'
  /** Retention has removed the record and all traces of it. */
  | 'removed'
  /** The journal calls it settled, but no output has a terminal record. */
  | 'missing'
  | 'unknown';

/** A job that named the record. */
export interface NamingJob extends ReportedJob {
  /** Time at which the record was settled or moved to another job, if the journal shows it; null while the job is responsible for it. */
  readonly leftMs: number | null;
  readonly live: boolean;
  readonly service: RemoteBatch | null;
}

export interface FoundTerminal {
  readonly kind: TerminalKind;
  readonly eventId: string;
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly timestampMs: number;
  /** null for dead letters. */
  readonly decision: ShownDecision | null;
  /** null for decisions. */
  readonly deadLetter: ReturnType<typeof deadLetterCause> | null;
}

export interface Explanation extends SourceCoordinate {
  /** Kind of the pipeline. */
  readonly kind: string;
  readonly state: RecordState;
  readonly summary: string;
  readonly source: {
    readonly record: 'present' | 'none' | 'removed' | 'unreadable';
    readonly timestampMs: number | null;
    readonly valueBytes: number | null;
  };
  readonly shard: number;
  readonly owner: { readonly instance: string; readonly atMs: number } | null;
  readonly position: {
    readonly watermark: number;
    readonly read: number;
    readonly claimed: boolean;
    readonly replay: number;
  } | null;
  /** Oldest first; only those that compaction has left in the journal. */
  readonly jobs: readonly NamingJob[];
  /** Reason why a record in flight does not proceed, as far as it is known here. */
  readonly blockedBy: string | null;
  /** Oldest first; empty while the record is in flight. Two with the same event id break the promise. */
  readonly terminals: readonly FoundTerminal[];
  /** Number of output offsets read. */
  readonly outputOffsets: number;
  readonly notes: readonly string[];
}

const SUMMARIES: Readonly<Partial<Record<RecordState, string>>> = {
  skipped: 'Skipped: source.nullValues or source.filter excludes it.',
  passed_over: 'Passed over: the group was reset to a later offset.',
  before_start: 'Older than the pipeline, which began at a later offset.',
  no_record:
    'No committed record has this offset: a transaction marker, an aborted or unfinished transaction, or compaction.',
  removed: 'Retention has removed it from the source topic, and it has no terminal record.',
  missing:
    'MISSING: the journal calls it settled, but neither output has a terminal record for it.',
  unknown: 'It has no terminal record, and the reason can no longer be determined: see the notes.',
};

export function summarise({
  kind,
  state,
  jobs,
  terminals,
  position,
  blockedBy,
}: Omit<Explanation, 'summary'>): string {
  const events = new Set(terminals.map(({ eventId }) => eventId));
  const twice =
    events.size < terminals.length
      ? ' It was published more than once: this breaks the promise.'
      : '';
  const fixed = SUMMARIES[state];
  if (fixed !== undefined) return fixed;
  const reason =
    blockedBy === null ? '' : ` ${blockedBy.charAt(0).toUpperCase()}${blockedBy.slice(1)}.`;
  if (state === 'buffered')
    return `Read, and waiting in a buffer or for its batch to be created; it is in no job yet.${reason}`;
  if (state === 'not_read')
    return position === null
      ? `Not read yet: no replica has ever claimed its shard.${reason}`
      : `Not read yet: intake had read up to offset ${position.read} when it last wrote its position.${reason}`;
  if (state === 'in_review') {
    const { remoteId, attempt, service } = jobs.find(({ live }) => live) ?? {};
    const situation = { kind, service: service ?? undefined };
    const waits =
      service || blockedBy === null
        ? ` It waits for ${waitsFor({ ...situation, running: true })}.`
        : '';
    return `In review: batch ${remoteId}, attempt ${attempt}.${waits}${reason}${twice}`;
  }
  const newest = terminals.at(-1);
  if (state === 'dead_lettered') {
    const letter = newest?.deadLetter;
    return `A dead letter: ${letter?.reason}, ${letter?.message}.${twice}`;
  }
  const decision = newest?.decision;
  if (!decision) return `Decided; the decision is in a format that cannot be read here.${twice}`;
  const { status, result, errorCode, batch } = decision;
  return `Decided: ${status}${result ? ` ${result}` : ''}${errorCode ? ` (${errorCode})` : ''}, batch ${batch.id}, attempt ${batch.attempt}.${twice}`;
}
