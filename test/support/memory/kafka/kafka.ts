/** Kafka cluster in memory. A test has one; every simulated instance connects to it with its own `KafkaClient`. */
import type { Clock } from '../../../../packages/client/src/base/clock.ts';
import type { JournalWrite, Stream, Transaction } from '../../../../src/core/ports/kafka.ts';
import type { Scheduler } from '../scheduler.ts';
import { Cluster } from './cluster.ts';
import { GroupCoordinator, type GroupSettings } from './group-coordinator.ts';
import { TransactionCoordinator, type TransactionSettings } from './transaction-coordinator.ts';

/**
 * Outcome of one commit:
 * - `commit`: committed.
 * - `reply-lost`: committed, but the caller gets `unknown`.
 * - `lost`: the commit never arrives; the caller gets `unknown`. The transaction stays open until it is fenced or
 *   times out.
 * - `late`: the caller gets `unknown`; the commit arrives after `lateMs` (unset: when the scheduler runs it), unless
 * the transactional id is fenced first.
 * - `fenced`: not committed, because the broker timed the transaction out.
 * - `committed-fenced`: committed; the response is lost, and the client's own retry gets `fenced`.
 * - `aborted`: failed after the sends and before the commit. The transaction stays open.
 * - `unsent`: no request reached the brokers, not even the one that fences. The caller gets `aborted`.
 * - `rejected`, `too-large`: the brokers refuse it permanently, the latter because a record is too large.
 * - `silent`: not committed, and the caller never gets a response.
 */
export type CommitFate =
  | 'commit'
  | 'reply-lost'
  | 'lost'
  | 'fenced'
  | 'committed-fenced'
  | 'aborted'
  | 'unsent'
  | 'rejected'
  | 'too-large'
  | 'silent'
  | { readonly fate: 'late'; readonly lateMs?: number };

export interface CommitAttempt {
  readonly client: string;
  readonly transactionalId: string;
  readonly shard: number;
  /** 1 for the first commit of this producer. */
  readonly number: number;
  /** Start of the client's attempt by the brokers' clock, ms. */
  readonly startedMs: number;
  readonly transaction: Omit<Transaction, 'journal'> & {
    readonly journal: readonly JournalWrite[];
  };
}

/** Scripted behaviour of the cluster. Hooks are called for every operation; those that are not set change nothing. */
export interface KafkaHooks {
  commitFate?(attempt: CommitAttempt): CommitFate;
  /** Called when the transactional id is initialised, which fences producers with an older epoch. */
  initialised?(transactionalId: string, epoch: number): void;
  /** Delays the client between the sends of a transaction and its commit. */
  beforeCommit?(attempt: CommitAttempt): Promise<void> | undefined;
  /** Called after a commit has been applied. */
  committed?(
    attempt: CommitAttempt,
    applied: { readonly epoch: number; readonly fate: CommitFate },
  ): void;
  /** True if a read of committed offsets returns the previous commit. */
  staleCommitted?(group: string, topic: string, partition: number): boolean;
  /** True if a batch in flight is delivered although its partition was sought or paused. */
  deliverStale?(member: string, stream: Stream, partition: number): boolean;
  /** Maximum number of records of the next batch. */
  batchRecords?(member: string, stream: Stream, partition: number): number;
  /** Error of an admin request or of a pass of a source reader. */
  failure?(operation: string, topic: string): Error | undefined;
  /** Error of one partition only, for fetches, reads or ranges. */
  partitionFailure?(
    operation: 'fetch' | 'read' | 'ranges',
    topic: string,
    partition: number,
  ): string | undefined;
}

export interface KafkaSettings extends GroupSettings {
  readonly brokers: number;
  readonly heartbeatIntervalMs: number;
  readonly transactions: TransactionSettings;
  readonly maxBatchRecords: number;
}

const DEFAULTS: KafkaSettings = {
  brokers: 1,
  sessionTimeoutMs: 30_000,
  rebalanceTimeoutMs: 60_000,
  heartbeatIntervalMs: 3_000,
  transactions: { timeoutMs: 60_000, maxMessageBytes: 1_048_588 },
  maxBatchRecords: 500,
};

export class MemoryKafka {
  /** Topics, logs and committed offsets. Tests use them directly, without network delays. */
  readonly cluster: Cluster;
  readonly transactions: TransactionCoordinator;
  readonly settings: KafkaSettings;
  readonly clock: Clock;
  /** Scheduler of requests. */
  readonly network: Scheduler;
  hooks: KafkaHooks;
  readonly #groups = new Map<string, GroupCoordinator>();

  constructor(
    clock: Clock,
    network: Scheduler,
    hooks: KafkaHooks = {},
    settings: Partial<KafkaSettings> = {},
  ) {
    this.clock = clock;
    this.network = network;
    this.hooks = hooks;
    this.settings = { ...DEFAULTS, ...settings };
    this.cluster = new Cluster(() => clock.monotonic());
    this.transactions = new TransactionCoordinator(this.cluster, clock, this.settings.transactions);
  }

  /** Returns the coordinator of a group, whose shards are the partitions of `journal`. Creates it at the first call. */
  group(group: string, journal: string): GroupCoordinator {
    const known = this.#groups.get(group);
    if (known !== undefined) return known;
    const coordinator = new GroupCoordinator(this.clock, this.settings, () =>
      this.cluster.partitions(journal),
    );
    this.#groups.set(group, coordinator);
    return coordinator;
  }
}
