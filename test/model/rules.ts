/**
 * Rules of a shard's protocol, each of which can be removed, and possible mistakes. The defaults are the
 * connector's rules. docs/internals/testing.md names the code of each rule.
 */
export interface Rules {
  /** True if a restart continues from the recorded progress. Otherwise it continues from the group's committed offset. */
  readonly honoursProgress: boolean;
  /** True if the initialisation of a transactional producer fences the previous producer. */
  readonly fences: boolean;
  /**
   * True if a claim fences first, then replays to its own owner record. Otherwise it replays to the visible end, then
   * fences.
   */
  readonly barrier: boolean;
  /**
   * True if a replay waits for the exact content of its owner record. Compaction may have replaced the record with a
   * newer one.
   */
  readonly barrierByContent: boolean;
  /** True if a claim may read committed offsets that are one commit old, and then mistakes a difference for a reset. */
  readonly believesStaleOffsets: boolean;
  /** True if each chunk of decisions shrinks the job's record in its transaction. Otherwise only the last chunk changes it. */
  readonly chunksShrinkJob: boolean;
  /** True if rows that are already settled are dropped. */
  readonly dropsSettledRows: boolean;
  /** True if a batch is uploaded only after its job's record is committed. */
  readonly journalsBeforeUpload: boolean;
  /** True if a batch that would wait permanently for its upload is replaced by a new batch. */
  readonly abandonsStuckUploads: boolean;
  /** True if a retry writes its new job and shrinks the old one in one transaction. Otherwise it writes the new job first. */
  readonly movesAtOnce: boolean;
  /** True if an owner keeps its view after a lost response and tries again. */
  readonly retriesBlindly: boolean;
  /**
   * Reader of a retry. `apart`: a separate reader. `shared`: intake, which moves its position back and then reads
   * records again that it has already buffered.
   */
  readonly rewinds: 'apart' | 'shared';
  /** True if intake does not buffer records again that it has read but not committed. */
  readonly intakeKnowsWhatItTook: boolean;
  /** True if an owner that rejoins seeks to its own position. Otherwise it continues from the committed offset. */
  readonly seeksAtJoin: boolean;
  /** True if an instance keeps its state when the group assigns its shard to another instance. Otherwise it drops the state. */
  readonly keepsStateWithoutShard: boolean;
  /** True if records that decode may become dead letters before they are in a job, as if the service rejected their type. */
  readonly deadLettersRefusedTypes: boolean;
  /**
   * One reset of the group by an operator: `keeps-live-jobs` is the connector's rule, `forgets-claims` changes only the
   * watermarks.
   */
  readonly reset: 'none' | 'keeps-live-jobs' | 'forgets-claims';
  /**
   * Command that an operator gives once and later ends by a resume. Before the resume, no records are consumed, and
   * with `pause` no job begins.
   */
  readonly command: 'none' | 'drain' | 'pause';
  /** True if a claim reads the newest command before it owns the shard. Otherwise the owner reads it some time later. */
  readonly claimReadsCommand: boolean;
  /** True if a drain is acknowledged only when no record is in flight. Otherwise it is acknowledged when no job is live. */
  readonly acknowledgesAtRest: boolean;
  /** True if an acknowledgement contains the revision of its command. Otherwise it applies to any command. */
  readonly acknowledgesRevision: boolean;
  /**
   * True if an unreadable record may replace the newest command in a journal, at most once per run. Compaction then
   * removes the command.
   */
  readonly spoilsCommand: boolean;
  /**
   * True if a claim without a readable command continues from the newest acknowledgement. Otherwise it continues as
   * if there were no command.
   */
  readonly continuesFromAcknowledgement: boolean;
  /** True if a command that changes nothing is written anyway when a shard's command cannot be read. */
  readonly replacesSpoilt: boolean;
}

export const RULES: Rules = {
  honoursProgress: true,
  fences: true,
  barrier: true,
  barrierByContent: false,
  believesStaleOffsets: false,
  chunksShrinkJob: true,
  dropsSettledRows: true,
  journalsBeforeUpload: true,
  abandonsStuckUploads: true,
  movesAtOnce: true,
  retriesBlindly: false,
  rewinds: 'apart',
  intakeKnowsWhatItTook: true,
  seeksAtJoin: true,
  keepsStateWithoutShard: true,
  deadLettersRefusedTypes: false,
  reset: 'none',
  command: 'none',
  claimReadsCommand: true,
  acknowledgesAtRest: true,
  acknowledgesRevision: true,
  spoilsCommand: false,
  continuesFromAcknowledgement: true,
  replacesSpoilt: true,
};

/** Type of a record that cannot be decoded. */
export const UNDECODABLE = 2;
export const MAX_RECORDS = 4;

export interface SourceRecord {
  readonly type: number;
  readonly partition: number;
  readonly offset: number;
}

/** Records of the source topic, and limits of the world. */
export interface Scenario {
  readonly records: readonly SourceRecord[];
  /** Index of the record at each offset, by partition. */
  readonly partitions: readonly (readonly number[])[];
  /**
   * Maximum number of batches in a state. Forgotten batches free their slot, so the number of attempts is
   * unlimited.
   */
  readonly slots: number;
  readonly maxRows: number;
  readonly maxChunk: number;
}

/**
 * @param records type and partition of each record, such as `A0.X0.B1`; X cannot be decoded
 * @throws Error if the format is different
 */
export function scenario(records: string, slots: number): Scenario {
  const partitions: [number[], number[]] = [[], []];
  const all = records.split('.').map((text, index): SourceRecord => {
    const [, type, partition] = /^([ABX])([01])$/.exec(text) ?? [];
    const offsets = partitions[Number(partition)];
    if (type === undefined || offsets === undefined || index >= MAX_RECORDS)
      throw new Error(`expected up to ${MAX_RECORDS} records in the form A0.X0.B1: ${records}`);
    offsets.push(index);
    return { type: 'ABX'.indexOf(type), partition: Number(partition), offset: offsets.length - 1 };
  });
  return {
    records: all,
    partitions: partitions[1].length > 0 ? partitions : [partitions[0]],
    slots,
    maxRows: 2,
    maxChunk: 2,
  };
}
