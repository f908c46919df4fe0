/** Kafka's transactions: fencing by epochs, markers, aborts by the next owner or by timeout. Calls take effect immediately. */
import type { Clock } from '../../../../packages/client/src/base/clock.ts';
import type { OffsetCommit } from '../../../../src/core/ports/kafka.ts';
import type { OutgoingRecord } from '../../../../src/core/record.ts';
import { BrokerError } from './broker-error.ts';
import type { Cluster } from './cluster.ts';
import { type PartitionLog, wireBytes } from './partition-log.ts';

/** Kafka's limit for the metadata of a committed offset. */
const MAX_OFFSET_METADATA_BYTES = 4096;

/** A committed transaction. */
export interface CommittedTransaction {
  readonly transactionalId: string;
  readonly records: readonly {
    readonly topic: string;
    readonly partition: number;
    readonly record: OutgoingRecord;
  }[];
  readonly offsets: readonly {
    readonly group: string;
    readonly topic: string;
    readonly commit: OffsetCommit;
  }[];
}

interface OpenTransaction {
  readonly transactionalId: string;
  readonly number: number;
  readonly records: {
    readonly topic: string;
    readonly partition: number;
    readonly record: OutgoingRecord;
  }[];
  readonly logs: Set<PartitionLog>;
  readonly offsets: {
    readonly group: string;
    readonly topic: string;
    readonly commit: OffsetCommit;
  }[];
  readonly cancelTimeout: () => void;
}

interface ProducerState {
  epoch: number;
  open: OpenTransaction | undefined;
}

export interface TransactionSettings {
  readonly timeoutMs: number;
  readonly maxMessageBytes: number;
}

export class TransactionCoordinator {
  readonly #cluster: Cluster;
  readonly #clock: Clock;
  readonly #settings: TransactionSettings;
  readonly #producers = new Map<string, ProducerState>();
  readonly #watchers = new Set<(committed: CommittedTransaction) => void>();
  #transactions = 0;

  constructor(cluster: Cluster, clock: Clock, settings: TransactionSettings) {
    this.#cluster = cluster;
    this.#clock = clock;
    this.#settings = settings;
  }

  /** Calls `committed` directly after each commit. @returns a function that stops the calls */
  watch(committed: (transaction: CommittedTransaction) => void): () => void {
    this.#watchers.add(committed);
    return () => this.#watchers.delete(committed);
  }

  /** InitProducerId: fences all earlier producers and aborts their open transaction. @returns the new epoch */
  initialise(transactionalId: string): number {
    const state = this.#producers.get(transactionalId) ?? { epoch: -1, open: undefined };
    this.#producers.set(transactionalId, state);
    this.#finish(state, 'abort');
    return ++state.epoch;
  }

  /** Appends to one partition in the transaction, and begins a transaction if none is open. @returns the first offset */
  append(
    transactionalId: string,
    epoch: number,
    topic: string,
    partition: number,
    records: readonly OutgoingRecord[],
  ): number {
    const state = this.#holder(transactionalId, epoch);
    const log = this.#cluster.log(topic, partition);
    const settings = this.#cluster.describe(topic)?.settings;
    const compacted = settings?.get('cleanup.policy')?.includes('compact') === true;
    const maxBytes = Number(settings?.get('max.message.bytes') ?? this.#settings.maxMessageBytes);
    for (const record of records) {
      const bytes = wireBytes(record);
      if (bytes > maxBytes) {
        throw new BrokerError(
          'MESSAGE_TOO_LARGE',
          `a record of ${bytes} bytes for ${topic}-${partition}`,
        );
      }
      if (compacted && record.key === null)
        throw new BrokerError('INVALID_RECORD', `${topic} is compacted: records need a key`);
    }
    const open = this.#begin(transactionalId, state);
    open.logs.add(log);
    for (const record of records) open.records.push({ topic, partition, record });
    return log.append(records, this.#clock.now(), open.number);
  }

  /** Adds offsets to the transaction. As in Kafka, the sender need not be a member of the group. */
  addOffsets(
    transactionalId: string,
    epoch: number,
    group: string,
    topic: string,
    offsets: readonly OffsetCommit[],
  ): void {
    const state = this.#holder(transactionalId, epoch);
    if (state.open === undefined)
      throw new BrokerError('INVALID_TXN_STATE', 'the first call of a transaction must be a send');
    for (const commit of offsets) {
      this.#cluster.log(topic, commit.partition);
      if (Buffer.byteLength(commit.metadata) > MAX_OFFSET_METADATA_BYTES) {
        throw new BrokerError('OFFSET_METADATA_TOO_LARGE', `for ${topic}-${commit.partition}`);
      }
      state.open.offsets.push({ group, topic, commit });
    }
  }

  /** EndTxn: makes all or none of the transaction's records visible. */
  end(transactionalId: string, epoch: number, outcome: 'commit' | 'abort'): void {
    const state = this.#holder(transactionalId, epoch);
    if (state.open === undefined)
      throw new BrokerError('INVALID_TXN_STATE', `${transactionalId} has no open transaction`);
    this.#finish(state, outcome);
  }

  /** Aborts a transaction that timed out and fences its producer, as the broker does. Tests may call it early. */
  expire(transactionalId: string): void {
    const state = this.#producers.get(transactionalId);
    if (state === undefined) return;
    this.#finish(state, 'abort');
    state.epoch++;
  }

  /** Returns the transactional ids with an open transaction. */
  openTransactions(): string[] {
    return [...this.#producers].filter(([, state]) => state.open !== undefined).map(([id]) => id);
  }

  #holder(transactionalId: string, epoch: number): ProducerState {
    const state = this.#producers.get(transactionalId);
    if (state === undefined || state.epoch !== epoch) {
      throw new BrokerError(
        'INVALID_PRODUCER_EPOCH',
        `${transactionalId}: epoch ${epoch} is fenced by ${state?.epoch}`,
      );
    }
    return state;
  }

  #begin(transactionalId: string, state: ProducerState): OpenTransaction {
    state.open ??= {
      transactionalId,
      number: ++this.#transactions,
      logs: new Set(),
      records: [],
      offsets: [],
      cancelTimeout: this.#clock.after(this.#settings.timeoutMs, () => {
        this.#finish(state, 'abort');
        state.epoch++;
      }),
    };
    return state.open;
  }

  #finish(state: ProducerState, outcome: 'commit' | 'abort'): void {
    const open = state.open;
    if (open === undefined) return;
    state.open = undefined;
    open.cancelTimeout();
    for (const log of open.logs) log.finish(open.number, outcome, this.#clock.now());
    if (outcome === 'abort') return;
    for (const { group, topic, commit } of open.offsets) {
      // Skips the offsets of a deleted topic, because brokers delete them with the topic.
      if (this.#cluster.partitions(topic) <= commit.partition) continue;
      this.#cluster.commitOffset(group, topic, commit.partition, commit.offset, commit.metadata);
    }
    for (const watcher of this.#watchers) watcher(open);
  }
}
