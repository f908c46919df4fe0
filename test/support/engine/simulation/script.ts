/**
 * A history, spelled out: the shape of the world, what people and machines do to it and when, and which calls go wrong. It is
 * plain data, so that it can be printed and played again.
 */
import type { CommitFate } from '../../memory/kafka/kafka.ts';
import type { Fault } from '../../memory/service/review-service.ts';
import type { SimulatedKind } from './kinds.ts';

/** Picks one of those that an action can hit, modulo their number. */
export type Which = number;

/** Reason for unreadable records. */
export type Unreadable = 'unreadable_batch' | 'too_large' | 'too_many_headers';

export type Action =
  | {
      readonly do: 'produce';
      readonly count: number;
      readonly types: number;
      readonly poisonEvery: number;
      /** Timestamps that no clock would give. */
      readonly oddTimes?: boolean;
      /** Nothing can read them: all of them as one batch, or every second one by itself. */
      readonly unreadable?: Unreadable;
      /** Offsets without a record before the first of them, in every partition, as compaction leaves them. */
      readonly gap?: number;
      /** Inside a producer's transaction: offsets then have gaps, and an aborted one leaves nothing. */
      readonly transaction?: 'commit' | 'abort';
    }
  | { readonly do: 'start' }
  /** SIGTERM, now or before the step after the next `steps`. */
  | { readonly do: 'stop'; readonly which: Which; readonly steps?: number }
  /** SIGKILL before the step after the next `steps`. */
  | { readonly do: 'kill'; readonly which: Which; readonly steps: number }
  /** SIGSTOP, and SIGCONT `forMs` later. */
  | { readonly do: 'freeze'; readonly which: Which; readonly steps: number; readonly forMs: number }
  /** Cut off from its group, while everything else reaches it. */
  | { readonly do: 'isolate'; readonly which: Which; readonly forMs: number }
  | { readonly do: 'crash client'; readonly which: Which }
  | { readonly do: 'rebalance' }
  /** Brokers abort the transaction in hand, as after its timeout. */
  | { readonly do: 'expire transaction'; readonly which: Which }
  | { readonly do: 'compact'; readonly share: number; readonly dropTombstones: boolean }
  | { readonly do: 'add partition' }
  /** The wall clock of everything but the service is set forward or back. */
  | { readonly do: 'step clock'; readonly byMs: number }
  /** A batch of `count` records from this share of the log on is damaged: what was read before cannot be read again. */
  | {
      readonly do: 'damage';
      readonly partition: Which;
      readonly share: number;
      readonly count: number;
    }
  /** Records below this share of the log are removed. */
  | { readonly do: 'retention'; readonly partition: Which; readonly share: number }
  /** A command line of an operator; its process may be killed after some steps. */
  | {
      readonly do: 'command';
      readonly command: 'pause' | 'drain' | 'resume';
      readonly waits: boolean;
      readonly killedAfter?: number;
    }
  /** Something else writes to a shard of the journal under the key of commands, and compaction leaves only that. */
  | { readonly do: 'spoil command'; readonly which: Which; readonly value: string | null }
  /** By Kafka's own tool, which wants the group empty: everything is stopped before. */
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
  /** The instance is killed, or frozen, after so many more steps: somewhere in its transaction. */
  | { readonly kind: 'killed in commit'; readonly steps: number }
  | { readonly kind: 'frozen in commit'; readonly steps: number; readonly forMs: number }
  | { readonly kind: 'stale batch' }
  | { readonly kind: 'stale offset' }
  | { readonly kind: 'compaction in replay'; readonly share: number }
  | { readonly kind: 'read failed' }
  | { readonly kind: 'admin failed' }
  | { readonly kind: 'late upload'; readonly ms: number | 'never' }
  | { readonly kind: 'service'; readonly fault: Fault }
  /** A lookup is told this, whatever the decision's own status. */
  | { readonly kind: 'decision status'; readonly status: 'PENDING' | 'ON_HOLD' }
  | {
      readonly kind: 'review';
      readonly how: 'failed' | 'cancelled' | 'stuck' | 'unknown' | 'forgotten';
      readonly afterMs: number;
    }
  /** Rows missing, doubled, shuffled, failed, unknown, malformed, as `seed` draws them. */
  | {
      readonly kind: 'spoiled results';
      readonly seed: number;
      readonly afterMs: number;
      readonly told?: 'too many' | 'too few';
    };

/** The `nth` call (from 0) at a place goes wrong so. */
export interface PlacedStrike {
  readonly place: string;
  readonly nth: number;
  readonly strike: Strike;
}

export interface Shape {
  /** Default: review. */
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
  /** Records of a type that the service refuses become dead letters; otherwise they wait. */
  readonly rejectedToDeadLetters: boolean;
  /** Reviews that take longer end as ERROR decisions; unset: they are waited for. */
  readonly maxReviewTimeMs?: number;
  /** Type a has a lane and limits of its own. */
  readonly hasLane?: boolean;
  /** Rows that the pipeline may submit in a minute; unset: no limit. */
  readonly quotaPerMinute?: number;
}

export interface Script {
  /** Draws the schedule, and everything that is no fault. */
  readonly seed: number;
  readonly shape: Shape;
  /** By time. */
  readonly events: readonly Event[];
  /** Unset: drawn from the seed, while events last. */
  readonly strikes?: readonly PlacedStrike[];
  /** Virtual time at which faults stop, in ms. */
  readonly untilMs: number;
}

/** Returns the category of a strike: its kind, and for a call to the service the call. */
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
