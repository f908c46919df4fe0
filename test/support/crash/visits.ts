/** Which points are visited, in which situation, and what the service must have got in the end. */
import type { FaultInput } from '../../../src/sandbox/faults/schema.ts';
import type { Kind } from '../../chaos/load/pipelines.ts';
import type { CrashPoint } from './points.ts';

/** Submissions of one visit's records to the service. */
export interface Submitted {
  /** POSTs: of batches, or imports. */
  readonly batches: number;
  /** PUTs, cut ones included. */
  readonly puts: number;
  /** Files that the storage has. */
  readonly uploads: number;
  /** Rows of those files: what is reviewed, and paid for. */
  readonly rows: number;
}

export interface Situation {
  readonly maxRows: number;
  /** Content events per partition, of two: before the first death, and for the successor, which must have lost its place nowhere. */
  readonly events: readonly [before: number, later: number];
  /** Also there before: records that cannot be decoded, and records without a value (skipped), per partition. */
  readonly poison: number;
  readonly empty: number;
  readonly faults?: readonly FaultInput[];
  /** A replica of the product that is alive all the time; the victim joins it. Then there are two shards. */
  readonly replica?: 'idle' | 'at work';
  /** Without a crash. */
  readonly submitted: Submitted;
}

const TWO_BATCHES = {
  maxRows: 18,
  events: [9, 9],
  poison: 1,
  empty: 0,
  submitted: { batches: 2, puts: 2, uploads: 2, rows: 36 },
} as const;
const BUFFERED = {
  maxRows: 18,
  events: [5, 4],
  submitted: { batches: 1, puts: 1, uploads: 1, rows: 18 },
} as const;
/** Two of each shard. */
const FOUR_BATCHES = {
  ...TWO_BATCHES,
  events: [18, 18],
  submitted: { batches: 4, puts: 4, uploads: 4, rows: 72 },
} as const;

export const SITUATIONS = {
  'three batches': {
    maxRows: 6,
    events: [9, 3],
    poison: 1,
    empty: 0,
    submitted: { batches: 4, puts: 4, uploads: 4, rows: 24 },
  },
  'one batch': TWO_BATCHES,
  'slow download': {
    ...TWO_BATCHES,
    faults: [{ operation: 'download', action: 'slow', bytesPerSecond: 5_000 }],
  },
  'failed batch': {
    ...TWO_BATCHES,
    faults: [{ operation: 'review', action: 'batch_error' }],
    submitted: { batches: 3, puts: 3, uploads: 3, rows: 54 },
  },
  // The buffer is not full before the rest comes.
  buffering: { ...BUFFERED, poison: 2, empty: 1 },
  // Nothing but W and the position moves.
  skipping: { ...BUFFERED, poison: 0, empty: 2 },
  'a replica beside': { ...FOUR_BATCHES, replica: 'idle' },
  'a replica at work': {
    ...FOUR_BATCHES,
    replica: 'at work',
    faults: [{ operation: 'review', action: 'stuck', for: '4s', times: 2 }],
  },
} as const satisfies Readonly<Record<string, Situation>>;

export interface Visit {
  /** Kind of the pipeline. */
  readonly kind: Kind;
  readonly situation: keyof typeof SITUATIONS;
  /** Crash points of the victims, in order, each with the ordinal of the visit that kills. */
  readonly deaths: readonly (readonly [point: CrashPoint, nth: number])[];
  /** Submissions in excess of those without a crash. */
  readonly again: Submitted;
}

const NOTHING: Submitted = { batches: 0, puts: 0, uploads: 0, rows: 0 };
/** A batch that was created for nothing: without an upload it costs nothing. */
const EMPTY_BATCH: Submitted = { ...NOTHING, batches: 1 };
/** The storage keeps nothing of a PUT that was cut. */
const CUT_PUT: Submitted = { ...EMPTY_BATCH, puts: 1 };

const visit = (
  situation: Visit['situation'],
  again: Submitted,
  ...deaths: Visit['deaths']
): Visit => ({
  kind: 'review',
  situation,
  deaths,
  again,
});
/** One batch; its victims die one after the other, each a little further on the way. */
const visitOther = (kind: Kind, again: Submitted, ...points: readonly CrashPoint[]): Visit => ({
  kind,
  situation: 'one batch',
  deaths: points.map((point) => [point, 1] as const),
  again,
});
/** Leaves live jobs, and six records that are not assigned. */
const HALF_WAY = ['upload:after', 2] as const;

export const VISITS: readonly Visit[] = [
  visit('three batches', EMPTY_BATCH, ['create:after', 2]),
  visit('three batches', EMPTY_BATCH, ['job:before', 2]),
  visit('three batches', EMPTY_BATCH, ['job:sent', 2]),
  visit('three batches', EMPTY_BATCH, ['job:committing', 2]),
  visit('three batches', EMPTY_BATCH, ['job:after', 2]),
  visit('three batches', CUT_PUT, ['upload:mid', 2]),
  visit('three batches', NOTHING, ['upload:after', 2]),

  visit('slow download', NOTHING, ['download:mid', 1]),
  visit('one batch', NOTHING, ['settle:before', 1]),
  visit('one batch', NOTHING, ['settle:sent', 1]),
  visit('one batch', NOTHING, ['settle:committing', 1]),
  visit('one batch', NOTHING, ['settle:after', 1]),
  visit('one batch', NOTHING, ['settle:after', 2]),
  visit('one batch', NOTHING, ['end:before', 1]),
  visit('one batch', NOTHING, ['end:sent', 1]),
  visit('one batch', NOTHING, ['end:committing', 1]),
  visit('one batch', NOTHING, ['end:after', 1]),

  visit('buffering', NOTHING, ['claim:sent', 1]),
  visit('buffering', NOTHING, ['start:before', 1]),
  visit('buffering', NOTHING, ['start:sent', 1]),
  visit('buffering', NOTHING, ['start:after', 1]),
  visit('buffering', NOTHING, ['dead-letters:before', 1]),
  visit('buffering', NOTHING, ['dead-letters:sent', 2]),
  visit('buffering', NOTHING, ['dead-letters:after', 1]),
  visit('skipping', NOTHING, ['progress:before', 1]),
  visit('skipping', NOTHING, ['progress:sent', 1]),
  visit('skipping', NOTHING, ['progress:after', 1]),

  visit('three batches', NOTHING, HALF_WAY, ['recovery:before-fence', 1]),
  visit('three batches', NOTHING, HALF_WAY, ['claim:before', 1]),
  visit('three batches', NOTHING, HALF_WAY, ['claim:begun', 1]),
  visit('three batches', NOTHING, HALF_WAY, ['claim:committing', 1]),
  visit('three batches', NOTHING, HALF_WAY, ['claim:after', 1]),
  visit('three batches', NOTHING, HALF_WAY, ['claim:sent', 1], ['recovery:after-fence', 1]),

  visit('failed batch', NOTHING, ['read:mid', 2]),
  visit('failed batch', NOTHING, ['read:after', 2]),
  visit('failed batch', EMPTY_BATCH, ['move:before', 1]),
  visit('failed batch', EMPTY_BATCH, ['move:sent', 1]),
  visit('failed batch', EMPTY_BATCH, ['move:committing', 1]),
  visit('failed batch', EMPTY_BATCH, ['move:after', 1]),

  visit('a replica beside', EMPTY_BATCH, ['job:after', 1]),
  visit('a replica beside', CUT_PUT, ['upload:mid', 1]),
  visit('a replica beside', NOTHING, ['settle:after', 1]),
  visit('a replica at work', NOTHING, ['claim:begun', 1]),
  visit('a replica at work', NOTHING, ['recovery:after-fence', 1]),

  visitOther(
    'import',
    { ...NOTHING, batches: 3, puts: 1 },
    'create:after',
    'job:committing',
    'upload:mid',
  ),
  visitOther('import', NOTHING, 'upload:after', 'read:mid', 'settle:after', 'end:committing'),
  visitOther('lookup', NOTHING, 'job:committing', 'read:mid', 'settle:after', 'end:committing'),
];

/** Returns the submissions of a visit. */
export function submittedBy({ kind, situation, again }: Visit): Submitted {
  // Lookups submit nothing.
  if (kind === 'lookup') return again;
  const { batches, puts, uploads, rows }: Submitted = SITUATIONS[situation].submitted;
  return {
    batches: batches + again.batches,
    puts: puts + again.puts,
    uploads: uploads + again.uploads,
    rows: rows + again.rows,
  };
}

/** Returns the name of a visit, in tests and in docs/crash-points.md. */
export function nameOf({ kind, situation, deaths }: Visit): string {
  const points = deaths.map(([point, nth]) => (nth === 1 ? point : `${point} (${nth})`));
  return `${kind === 'review' ? situation : `${situation}, ${kind}`}: ${points.join(', ')}`;
}
