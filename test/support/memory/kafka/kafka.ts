/** A Kafka cluster in memory. One per test; every simulated instance talks to it through a `KafkaClient` of its own. */
import type { Clock } from '../../../../packages/client/src/base/clock.ts';
import type { JournalWrite, Stream, Transaction } from '../../../../src/core/ports/kafka.ts';
import type { Scheduler } from '../scheduler.ts';
import { Cluster } from './cluster.ts';
import { GroupCoordinator, type GroupSettings } from './group-coordinator.ts';
import { TransactionCoordinator, type TransactionSettings } from './transaction-coordinator.ts';

/**
 * Fate of one commit: - `commit`: as it should be. - `reply-lost`: committed, but the caller is
 * told `unknown`. - `lost`: the caller is told `unknown`; the commit never arrives, so the
 * transaction stays open until it is fenced or times out. - `late`: the caller is told `unknown`;
 * the commit is still in the network. It arrives `lateMs` later (unset: when the scheduler gets to
 * it), unless the transactional id was fenced first. - `fenced`: the broker timed the transaction
 * out; nothing is committed. - `committed-fenced`: committed, its reply lost, and the client's own
 * retry answered `fenced`. - `aborted`: the failure came after the sends and before the commit; the
 * transaction stays open. - `unsent`: no request reached the brokers, not even the one that fences;
 * the caller is told `aborted`. - `rejected`: the brokers refuse it and always will. - `too-large`:
 * the brokers refuse it for the size of a record. - `silent`: no answer ever comes, and nothing is
 * committed.
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
  /** Brokers' clock, ms: when the client began. */
  readonly startedMs: number;
  readonly transaction: Omit<Transaction, 'journal'> & {
    readonly journal: readonly JournalWrite[];
  };
}

/** Scripts what the cluster does. All are evaluated each time; leave out what should simply work. */
export interface KafkaHooks {
  commitFate?(attempt: CommitAttempt): CommitFate;
  /** The transactional id was initialised: a producer with an older epoch is fenced. */
  initialised?(transactionalId: string, epoch: number): void;
  /** Wait of the client between the sends of a transaction and its commit. */
  beforeCommit?(attempt: CommitAttempt): Promise<void> | undefined;
  /** The commit of this transaction has just been applied. */
  committed?(
    attempt: CommitAttempt,
    applied: { readonly epoch: number; readonly fate: CommitFate },
  ): void;
  /** A read of committed offsets that is one commit old. */
  staleCommitted?(group: string, topic: string, partition: number): boolean;
  /** A batch that was under way when its partition was sought or paused is delivered all the same. */
  deliverStale?(member: string, stream: Stream, partition: number): boolean;
  /** Most records of the next batch. */
  batchRecords?(member: string, stream: Stream, partition: number): number;
  /** Makes a question to the cluster, or a pass of a source reader, fail. */
  failure?(operation: string, topic: string): Error | undefined;
  /** Error of one partition alone: of its fetches, reads or ranges. */
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
  /** Topics, logs and committed offsets: immediate, for the test's own hands. */
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

  /** The coordinator of a group whose shards are the partitions of `journal`; made on first use. */
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
