/** What is said about one source record, and how it is said to people. */
import type { RemoteBatch } from './context.ts';
import { waitsFor } from './journal-report.ts';
import type { OutputRange, TerminalKind } from './terminal-scan.ts';

export type RecordState =
  /** In no job yet: `not_read`, or read and waiting in a buffer. */
  | 'not_read'
  | 'buffered'
  | 'in_review'
  | 'decided'
  | 'dead_lettered'
  /** Outside the promise: a null value that is skipped, skipped by a reset, older than the pipeline. */
  | 'skipped'
  | 'passed_over'
  | 'before_start'
  /** No committed record has this offset. */
  | 'no_record'
  /** Retention has removed the record, and nothing tells what became of it. */
  | 'removed'
  /** The journal calls it settled, yet no output has a terminal record. */
  | 'missing'
  | 'unknown';

export interface NamingJob {
  readonly id: string;
  readonly remoteId: string;
  readonly type: string;
  readonly attempt: number;
  readonly depth: number;
  readonly count: number;
  readonly createdMs: number;
  /** When the record was settled or moved to another job, as far as the journal tells; null while the job answers for it. */
  readonly leftMs: number | null;
  readonly live: boolean;
  /** The batch that must publish before this live one, under output.order: source. */
  readonly behind: string | null;
  readonly service: RemoteBatch | null;
}

export interface FoundTerminal {
  readonly kind: TerminalKind;
  readonly eventId: string;
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly timestampMs: number;
  /** Of a decision. Never metadata nor content (I6). */
  readonly decision: {
    readonly status: string;
    readonly result: string | null;
    readonly errorCode: string | null;
    readonly batch: { readonly id: string | null; readonly type: string; readonly attempt: number };
  } | null;
  /** Of a dead letter. */
  readonly deadLetter: {
    readonly reason: string;
    readonly stage: string;
    readonly message: string;
  } | null;
}

export interface Explanation {
  readonly partition: number;
  readonly offset: number;
  /** Kind of the pipeline. */
  readonly kind: string;
  readonly state: RecordState;
  /** A sentence for people. */
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
  /** Empty while it is on its way. More than one with the same event id breaks the promise. */
  readonly terminals: readonly FoundTerminal[];
  /** What of the outputs was read. */
  readonly scanned: readonly OutputRange[];
  readonly notes: readonly string[];
}

/** One or two sentences for people. */
export function summarise({
  kind,
  state,
  jobs,
  terminals,
  position,
}: Omit<Explanation, 'summary'>): string {
  const [terminal] = terminals;
  const live = jobs.find((job) => job.live);
  const events = new Set(terminals.map(({ eventId }) => eventId));
  const twice =
    events.size < terminals.length
      ? ' It was published more than once: this breaks the promise.'
      : '';
  switch (state) {
    case 'not_read':
      return position === null
        ? 'Not read yet: no replica has ever claimed its shard.'
        : `Not read yet: intake had read up to offset ${position.read} when it last said so.`;
    case 'buffered':
      return 'Read, and waiting in a buffer or for its batch to be created; it is in no job yet.';
    case 'in_review':
      return `In review: batch ${live?.remoteId}, attempt ${live?.attempt}. It waits for ${waitsFor({ kind, service: live?.service ?? undefined, running: true, behind: live?.behind ?? undefined })}.${twice}`;
    case 'decided': {
      const decision = terminals.find(({ kind }) => kind === 'decision')?.decision ?? null;
      if (decision === null)
        return `Decided; what was decided is written in a form that cannot be read here.${twice}`;
      const { status, result, errorCode, batch } = decision;
      return `Decided: ${status}${result ? ` ${result}` : ''}${errorCode ? ` (${errorCode})` : ''}, batch ${batch.id}, attempt ${batch.attempt}.${twice}`;
    }
    case 'dead_lettered':
      return `A dead letter: ${terminal?.deadLetter?.reason}, ${terminal?.deadLetter?.message}.${twice}`;
    case 'skipped':
      return 'Skipped: it has no value, and source.nullValues is skip.';
    case 'passed_over':
      return 'Passed over: the group was reset to a later offset.';
    case 'before_start':
      return 'Older than the pipeline: it began at a later offset.';
    case 'no_record':
      return 'No committed record has this offset: a transaction marker, an aborted or unfinished transaction, or compaction.';
    case 'removed':
      return 'Retention has removed it from the source topic, and no terminal record is left that tells what became of it.';
    case 'missing':
      return 'MISSING: the journal calls it settled, yet neither output has a terminal record for it.';
    case 'unknown':
      return 'It has no terminal record, and the reason can no longer be determined: see the notes.';
  }
}
