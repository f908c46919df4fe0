/**
 * Rules of a shard's protocol, each of which can be removed, and possible mistakes. The defaults are the
 * connector's rules. docs/internals/testing.md names the code of each rule.
 */
export interface Rules {
  /** A restart continues from the recorded progress; false: from the watermark only, the group's committed offset. */
  readonly honoursProgress: boolean;
  /** Initialising the transactional producer fences the previous one. */
  readonly fences: boolean;
  /** Fences first, then replays to its own owner record; false: replays to the visible end, then fences. */
  readonly barrier: boolean;
  /** The replay waits for the exact content of its owner record, which compaction may have replaced by a newer one. */
  readonly barrierByContent: boolean;
  /** The claim may read committed offsets that are one commit old, and mistakes a difference for a reset. */
  readonly believesStaleOffsets: boolean;
  /** Each chunk of decisions shrinks the job's record in its transaction; false: only the last chunk changes it. */
  readonly chunksShrinkJob: boolean;
  /** Rows that are already settled are dropped. */
  readonly dropsSettledRows: boolean;
  /** A batch is uploaded only after its job's record is committed. */
  readonly journalsBeforeUpload: boolean;
  /** A batch that waits permanently for its upload is replaced by a new batch. */
  readonly abandonsStuckUploads: boolean;
  /** A retry writes its new job and shrinks the old one in one transaction; false: it writes the new job first. */
  readonly movesAtOnce: boolean;
  /** After a lost response the owner keeps its view and tries again. */
  readonly retriesBlindly: boolean;
  /**
   * Reader of a retry. `apart`: a separate reader. `shared`: intake, which moves its position back and then reads
   * records again that it has already buffered.
   */
  readonly rewinds: 'apart' | 'shared';
  /** Intake does not buffer records again that it has read but not committed. */
  readonly intakeKnowsWhatItTook: boolean;
  /** An owner that rejoins seeks to its own position; false: it continues from the committed offset. */
  readonly seeksAtJoin: boolean;
  /** An instance keeps its state when the group assigns its shard to another instance; false: it drops the state. */
  readonly keepsStateWithoutShard: boolean;
  /** Records that decode may become dead letters before they are in a job, as if the service rejected their type. */
  readonly deadLettersRefusedTypes: boolean;
  /** One reset of the group by an operator: `keeps-live-jobs` is the rule; `forgets-claims` changes only the watermarks. */
  readonly reset: 'none' | 'keeps-live-jobs' | 'forgets-claims';
  /**
   * Command that an operator gives once and later ends by a resume. Before the resume, no records are consumed, and
   * with `pause` no job begins.
   */
  readonly command: 'none' | 'drain' | 'pause';
  /** A claim reads the newest command before it owns the shard; false: the owner reads it some time later. */
  readonly claimReadsCommand: boolean;
  /** A drain is acknowledged when no record is in flight; false: when no job is live. */
  readonly acknowledgesAtRest: boolean;
  /** An acknowledgement contains the revision of its command; false: it applies to any command. */
  readonly acknowledgesRevision: boolean;
  /** At most once per run, an unreadable record replaces the newest command in a journal, and compaction removes that command. */
  readonly spoilsCommand: boolean;
  /** A claim without a readable command continues from the newest acknowledgement; false: as without a command. */
  readonly continuesFromAcknowledgement: boolean;
  /** A command that changes nothing is written anyway if a shard's command cannot be read. */
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
