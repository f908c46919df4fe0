/** The places at which the test build can die: docs/crash-points.md says what each of them leaves behind. */

/** Every transaction of a shard, by what it writes. */
export const TRANSACTIONS = [
  /** The owner record: the first of every producer, so that it fences. */
  'claim',
  /** First transactions of a new journal: meta, and the start of reading. */
  'start',
  'job',
  /** A chunk of decisions; the job lives on. */
  'settle',
  /** The last chunk of a job, with its tombstones. */
  'end',
  'dead-letters',
  'progress',
  /** Records leave a failed job for their next attempt. */
  'move',
] as const;
export type TransactionName = (typeof TRANSACTIONS)[number];

export const STAGES = [
  'before',
  /** Its producer is initialised (which fences) and nothing is sent. */
  'begun',
  /** Its records and offsets are with the brokers, the commit is not asked for. */
  'sent',
  /** The commit is requested, and its answer is not awaited. */
  'committing',
  /** Committed, and the engine does not know yet. */
  'after',
] as const;
export type Stage = (typeof STAGES)[number];

export type CrashPoint =
  | `${TransactionName}:${Stage}`
  /** The service has answered the POST. */
  | 'create:after'
  /** Half of the body is sent. */
  | 'upload:mid'
  /** The storage has answered the PUT. */
  | 'upload:after'
  /** Some rows of the results are here, others are not. */
  | 'download:mid'
  /** The journal is being read, and the previous owner may write still. */
  | 'recovery:before-fence'
  /** The journal is being read up to our owner record. */
  | 'recovery:after-fence'
  /** Records of the source have come again, and are not taken yet. */
  | 'read:mid'
  /** A partition was read again. */
  | 'read:after';

/** Environment of the test build. Without a point it is the product. */
export const CRASH_POINT = 'CRASH_POINT';
/** The how manieth time it dies there. */
export const CRASH_NTH = 'CRASH_NTH';

/** Last line of a dying process. */
export interface LastWords {
  readonly msg: 'dies here';
  readonly point: CrashPoint;
  /** Number of times that it has asked for a transactional producer to be initialised. */
  readonly fences: number;
}
