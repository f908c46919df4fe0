/**
 * Rules of a shard's protocol in the model, each of which can be taken away, and the mistakes that
 * can be made instead. The defaults are the rules that the connector keeps; docs/internals/testing.md
 * says where its code keeps them.
 */
export interface Rules {
  /** A restart honours the recorded progress; false: only the watermark, which is the group's committed offset. */
  readonly honoursProgress: boolean;
  /** Initialising the transactional producer fences the one before it. */
  readonly fences: boolean;
  /** Fence first, then replay to the own owner record; false: replay to the visible end, then fence. */
  readonly barrier: boolean;
  /** The replay waits for the very content of its owner record, which compaction may have removed for a newer one. */
  readonly barrierByContent: boolean;
  /** The claim may read committed offsets one commit late, and believes that one which differs is a reset. */
  readonly believesStaleOffsets: boolean;
  /** Each chunk of decisions shrinks the job's record in its transaction; false: only the last one touches it. */
  readonly chunksShrinkJob: boolean;
  /** Rows that are settled already are dropped. */
  readonly dropsSettledRows: boolean;
  /** The upload comes after the job's record is committed. */
  readonly journalsBeforeUpload: boolean;
  /** A batch stuck in waiting for its upload is given up for a new one. */
  readonly abandonsStuckUploads: boolean;
  /** A retry writes its new job and shrinks the old one in one transaction; false: the new one first. */
  readonly movesAtOnce: boolean;
  /** After a lost reply the owner keeps its view and tries again. */
  readonly retriesBlindly: boolean;
  /**
   * Source of a retry: `apart`, a reader of its own; or `shared`, by moving intake's position back.
   * Intake then passes records again that it has buffered.
   */
  readonly rewinds: 'apart' | 'shared';
  /** Intake does not buffer again what it has taken and not committed yet. */
  readonly intakeKnowsWhatItTook: boolean;
  /** An owner that rejoins seeks to its own position; false: it goes on from the committed offset. */
  readonly seeksAtJoin: boolean;
  /** An instance that learns that its shard has another owner keeps its state in case it comes back; false: throws it away. */
  readonly keepsStateWithoutShard: boolean;
  /** Records that decode may end as dead letters before they are in a job, as those of a type do that the service refuses. */
  readonly deadLettersRefusedTypes: boolean;
  /** One reset of the group by an operator: `keeps-live-jobs` is the rule; `forgets-claims` leaves the watermarks alone. */
  readonly reset: 'none' | 'keeps-live-jobs' | 'forgets-claims';
  /** Command that an operator gives once, and ends: nothing is taken in, and with `pause` no job begins either. */
  readonly command: 'none' | 'drain' | 'pause';
  /** A claim reads the newest command before it owns; false: the owner reads it some time later. */
  readonly claimReadsCommand: boolean;
  /** A drain is acknowledged when no record is in hand; false: when no job is live. */
  readonly acknowledgesAtRest: boolean;
  /** An acknowledgement names the revision of the command that it answers; false: it answers any. */
  readonly acknowledgesRevision: boolean;
  /** Once, an unreadable record takes the place of the newest command in the shard, and compaction removes that. */
  readonly spoilsCommand: boolean;
  /** A claim without a readable command goes on from the newest acknowledgement; false: as without a command. */
  readonly continuesFromAcknowledgement: boolean;
  /** A command that changes nothing is written nevertheless if it cannot be read in a shard. */
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

/** Index of a record that cannot be decoded. */
export const UNDECODABLE = 2;
export const MAX_RECORDS = 4;

export interface SourceRecord {
  readonly type: number;
  readonly partition: number;
  readonly offset: number;
}

/** The records of the source topic, and the bounds of the world. */
export interface Scenario {
  readonly records: readonly SourceRecord[];
  /** Index of the record at each offset, by partition. */
  readonly partitions: readonly (readonly number[])[];
  /** Batches remembered at once. A forgotten one makes room, so attempts are not bounded. */
  readonly slots: number;
  readonly maxRows: number;
  readonly maxChunk: number;
}

/**
 * @param records content type and partition of each, such as `A0.X0.B1`; X cannot be decoded.
 * @throws Error when that is not what is written there.
 */
export function scenario(records: string, slots: number): Scenario {
  const partitions: [number[], number[]] = [[], []];
  const all = records.split('.').map((text, index): SourceRecord => {
    const [, type, partition] = /^([ABX])([01])$/.exec(text) ?? [];
    const offsets = partitions[Number(partition)];
    if (type === undefined || offsets === undefined || index >= MAX_RECORDS)
      throw new Error(`records must be like A0.X0.B1, up to ${MAX_RECORDS} of them: ${records}`);
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
