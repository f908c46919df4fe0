/**
 * Script of a history: the shape of the world, the actions with their times, and the calls that fail. It is plain
 * data, so it can be printed and played again.
 */
import type { CommitFate } from '../../memory/kafka/kafka.ts';
import type { Fault } from '../../memory/service/review-service.ts';
import type { SimulatedKind } from './kinds.ts';

/** Index of a target, modulo the number of available targets. */
export type Which = number;

/** Reason why records are unreadable. */
export type Unreadable = 'unreadable_batch' | 'too_large' | 'too_many_headers';

export type Action =
  | {
      readonly do: 'produce';
      readonly count: number;
      readonly types: number;
      readonly poisonEvery: number;
      /** Timestamps that no real clock produces. */
      readonly oddTimes?: boolean;
      /** Makes records unreadable: all as one batch, or every second one alone. */
      readonly unreadable?: Unreadable;
      /** Number of unused offsets before the first record in every partition, as after compaction. */
      readonly gap?: number;
      /** Outcome of the producer's transaction. Its markers leave gaps in the offsets; an abort leaves no records. */
      readonly transaction?: 'commit' | 'abort';
    }
  | { readonly do: 'start' }
  /** SIGTERM, at once or after `steps` more steps. */
  | { readonly do: 'stop'; readonly which: Which; readonly steps?: number }
  /** SIGKILL after `steps` more steps. */
  | { readonly do: 'kill'; readonly which: Which; readonly steps: number }
  /** SIGSTOP, and SIGCONT `forMs` later. */
  | { readonly do: 'freeze'; readonly which: Which; readonly steps: number; readonly forMs: number }
  /** Cuts the instance off from its group only. */
  | { readonly do: 'isolate'; readonly which: Which; readonly forMs: number }
  | { readonly do: 'crash client'; readonly which: Which }
  | { readonly do: 'rebalance' }
  /** Brokers abort the open transaction, as after its timeout. */
  | { readonly do: 'expire transaction'; readonly which: Which }
  | { readonly do: 'compact'; readonly share: number; readonly dropTombstones: boolean }
  | { readonly do: 'add partition' }
  /** Sets the wall clock of all processes except the service forward or back. */
  | { readonly do: 'step clock'; readonly byMs: number }
  /**
   * Damages a batch of `count` records at this share of the log. The records become unreadable, even if they were read
   * before.
   */
  | {
      readonly do: 'damage';
      readonly partition: Which;
      readonly share: number;
      readonly count: number;
    }
  /** Removes the records below this share of the log. */
  | { readonly do: 'retention'; readonly partition: Which; readonly share: number }
  /** Runs an operator's command line, whose process may be killed after some steps. */
  | {
      readonly do: 'command';
      readonly command: 'pause' | 'drain' | 'resume';
      readonly waits: boolean;
      readonly killedAfter?: number;
    }
  /** Another program writes under the command key of a shard's journal, and compaction keeps only that record. */
  | { readonly do: 'spoil command'; readonly which: Which; readonly value: string | null }
  /** Resets the group with Kafka's tool, which requires an empty group. So everything is stopped first. */
  | {
      readonly do: 'reset';
      readonly partition: Which;
      readonly share: number;
      readonly killed: boolean;
    };

export type Event = { readonly atMs: number } & Action;

/** Fault of one call. */
export type Strike =
  | { readonly kind: 'commit'; readonly fate: CommitFate }
  /** Kills or freezes the instance during its transaction, after `steps` more steps. */
  | { readonly kind: 'killed in commit'; readonly steps: number }
  | { readonly kind: 'frozen in commit'; readonly steps: number; readonly forMs: number }
  | { readonly kind: 'stale batch' }
  | { readonly kind: 'stale offset' }
  | { readonly kind: 'compaction in replay'; readonly share: number }
  | { readonly kind: 'read failed' }
  | { readonly kind: 'admin failed' }
  | { readonly kind: 'late upload'; readonly ms: number | 'never' }
  | { readonly kind: 'service'; readonly fault: Fault }
  /** Status that a lookup gets instead of the decision's own. */
  | { readonly kind: 'decision status'; readonly status: 'PENDING' | 'ON_HOLD' }
  | {
      readonly kind: 'review';
      readonly how: 'failed' | 'cancelled' | 'stuck' | 'unknown' | 'forgotten';
      readonly afterMs: number;
    }
  /** Drops, repeats, shuffles, fails and breaks rows, as `seed` draws. */
  | {
      readonly kind: 'spoiled results';
      readonly seed: number;
      readonly afterMs: number;
      readonly told?: 'too many' | 'too few';
    };

/** Fault of the `nth` call (from 0) at a place. */
export interface PlacedStrike {
  readonly place: string;
  readonly nth: number;
  readonly strike: Strike;
}

export interface Shape {
  /** Kind of the pipeline. Default: review. */
  readonly kind?: SimulatedKind;
  readonly instances: number;
  readonly partitions: number;
  readonly shards: number;
  readonly batchRows: number;
  readonly batchAgeMs: number;
  readonly chunkRows: number;
  readonly attempts: number;
  readonly maxInFlight: number;
  readonly budgetBytes: number;
  readonly sessionTimeoutMs: number;
  readonly latencyMs: number;
  /** True if records of a type that the service refuses become dead letters. Otherwise they wait. */
  readonly rejectedToDeadLetters: boolean;
  /** Limit after which reviews end as ERROR decisions. Unset: no limit. */
  readonly maxReviewTimeMs?: number;
  /** True if type `a` has its own lane and limits. */
  readonly hasLane?: boolean;
  /** Number of rows that the pipeline may submit per minute. Unset: no limit. */
  readonly quotaPerMinute?: number;
  /** Number of rows that the pipeline may submit per day. Unset: no limit. */
  readonly quotaPerDay?: number;
  /** Number of rows that may be under review. Unset: no limit. */
  readonly quotaUnderReview?: number;
}

export interface Script {
  /** Seed of the schedule and of everything that is not a fault. */
  readonly seed: number;
  readonly shape: Shape;
  /** Events, sorted by time. */
  readonly events: readonly Event[];
  /** Faults. Unset: drawn from the seed until `untilMs`. */
  readonly strikes?: readonly PlacedStrike[];
  /** Virtual time at which faults stop, in ms. */
  readonly untilMs: number;
}

/** Returns the category of a strike: its kind, or the call and its failure for the service. */
export function kindOf({ place, strike }: PlacedStrike): string {
  switch (strike.kind) {
    case 'commit':
      return `commit ${typeof strike.fate === 'object' ? strike.fate.fate : strike.fate}`;
    case 'service': {
      const { failure, hangMs, afterRows, after } = strike.fault;
      const how = hangMs !== undefined ? 'hangs' : afterRows !== undefined ? 'cut' : failure;
      return `${place.replace('/', ' ')} ${how}${after === true ? ', done' : ''}`;
    }
    case 'review':
      return `review ${strike.how}`;
    default:
      return strike.kind;
  }
}
