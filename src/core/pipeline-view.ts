/**
 * State of one pipeline in an instance, for the console. Its size is bounded. Times are wall-clock
 * times in ms. It never contains content, keys or addresses (I6).
 */

/** Phase of a live job. */
export type JobPhase = 'uploading' | 'reviewing' | 'settling' | 'retrying';

export interface PipelineView {
  readonly name: string;
  /** Name of the pipeline's service. */
  readonly service: string;
  readonly group: string;
  readonly sourceTopic: string;
  /** Id of this process in the journal's owner records. null until the start is complete. */
  readonly instance: string | null;
  /** Number of source records that have not been read yet. null while unknown. */
  readonly lag: number | null;
  /** Records in flight by stage. `creating` counts records in sealed or parked batches, or in a batch being created. */
  readonly records: Readonly<Record<'buffered' | 'creating' | JobPhase, number>>;
  /** Empty for a pipeline without lanes. */
  readonly lanes: readonly LaneView[];
  /** Rows that this instance's shards may still submit, by limit. Empty if there is no quota. */
  readonly quota: readonly QuotaView[];
  /** K, or null until the topics have been checked. Shards not assigned here belong to other members of the group. */
  readonly shardCount: number | null;
  readonly assigned: number;
  readonly shards: readonly ShardView[];
  readonly jobCount: number;
  /** Live jobs, oldest first. */
  readonly jobs: readonly JobView[];
  readonly waits: readonly WaitView[];
  readonly breakers: readonly BreakerView[];
  /** Current command, as the owned shards have read it. null if the pipeline is running. */
  readonly control: ControlView | null;
}

/** Records in flight of a lane. */
export interface LaneView {
  readonly name: string;
  readonly records: number;
  /** null if the lane has no records. */
  readonly oldestEventMs: number | null;
}

export interface QuotaView {
  readonly limit: 'rowsPerMinute' | 'rowsPerDay' | 'rowsUnderReview';
  readonly left: number;
  /** Time in ms until more rows are free; null if none are used, or if reviews must end first. */
  readonly renewsMs: number | null;
}

export interface ShardView {
  readonly shard: number;
  /** `lost` until the shard is claimed again. */
  readonly state: 'owner' | 'claiming' | 'lost';
  readonly ownedSinceMs: number | null;
  /** Number of consecutive failed claims. */
  readonly failures: number;
  readonly jobs: number;
  readonly inFlight: number;
  /** Number of source records that have not been read yet. null while unknown. */
  readonly lag: number | null;
}

export interface JobView {
  readonly remoteId: string;
  readonly type: string;
  readonly shard: number;
  readonly phase: JobPhase;
  readonly attempt: number;
  readonly createdMs: number;
  readonly oldestEventMs: number;
  readonly rows: number;
  readonly left: number;
  /** Coordinate of one unsettled record, as an argument for `explain`. */
  readonly first: { readonly partition: number; readonly offset: number } | null;
  /** State in the service's last response, in the service's spelling. */
  readonly remoteState: string | null;
  readonly askedMs: number | null;
}

export interface WaitView {
  readonly reason: string;
  readonly sinceMs: number;
  readonly waiting: number;
  readonly who: readonly string[];
}

/** A content type that is blocked by its circuit breaker. */
export interface BreakerView {
  readonly type: string;
  readonly reason: string;
  /** Number of consecutive failed batches. */
  readonly failures: number;
  /** Time at which the next batch is let through as a probe. */
  readonly nextTryMs: number;
}

/** State of a pipeline that an operator has paused or drained. */
export interface ControlView {
  /** `drained` if every owned shard is drained. */
  readonly state: 'paused' | 'draining' | 'drained';
  readonly by: string;
  readonly reason: string | null;
  readonly sinceMs: number;
}
