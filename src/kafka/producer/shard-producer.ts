/** Transactional producer for one shard (I3), for commands to all shards, or for a replay. */
import pLimit from 'p-limit';
import type { BufferPool } from '../../core/bytes/buffer-pool.ts';
import { EncodedRecords } from '../../core/bytes/encoded-records.ts';
import {
  type ControlProducer,
  type JournalWrite,
  type Transaction,
  TransactionError,
} from '../../core/ports/kafka.ts';
import type { Logger } from '../../core/ports/telemetry.ts';
import type { WritableTopic } from '../admin/admin.ts';
import type { ConnectOptions } from '../connect.ts';
import { explain, type TransactionPhase, transactionFailure } from '../errors.ts';
import { BatchProducer } from './batch-producer.ts';
import { headBytes, OutgoingBatch, type PlannedBatch } from './outgoing-batch.ts';
import { MAX_SEND_BYTES, planBatches, planBatchesTo, sendBytesFor } from './send-plan.ts';

export interface ProducersOptions {
  readonly groupId: string;
  readonly sourceTopic: string;
  readonly journalTopic: string;
  /** Buffers for the requests that carry records. */
  readonly pool: BufferPool;
  /** Time after which the broker aborts a transaction and this producer fails. Default 60,000 ms. */
  readonly transactionTimeoutMs?: number;
}

/**
 * Number of partitions to which a transaction writes concurrently if all its records for a topic
 * would fit into one request. A larger transaction writes to one at a time, because its buffers
 * would take too much memory.
 */
const CONCURRENT_SENDS = 2;

/** Transaction of a shard, or of a replay, which has no journal records. */
type AnyTransaction = Omit<Transaction, 'journal'> & Partial<Pick<Transaction, 'journal'>>;

type TopicLookup = (topic: string) => Promise<WritableTopic>;

/** Batches for one topic. */
interface PlannedOutput {
  readonly topic: string;
  readonly records: EncodedRecords;
  readonly batches: readonly PlannedBatch[];
}

export class KafkaShardProducer implements ControlProducer {
  readonly #who: string;
  readonly #shards: readonly number[];
  readonly #roomBytes: (topic: string) => number;
  readonly #options: ProducersOptions;
  readonly #lookUp: TopicLookup;
  readonly #producer: BatchProducer;
  /** Signal that is aborted once the producer can no longer be used, with the cause as its reason. */
  readonly #ended = new AbortController();
  readonly #timeoutMs: number;
  #busy = false;
  #phase: TransactionPhase = 'sending';
  /**
   * Partition of records without a key. All such records of a transaction go to the same partition,
   * which saves sends. The next transaction uses another partition.
   */
  #rotation = Math.floor(Math.random() * 1_000);

  /**
   * @param shards one shard, all shards for commands, or none for a replay
   * @param role end of the transactional id, instead of the shard's number
   */
  constructor(
    shards: readonly number[],
    connect: ConnectOptions,
    options: ProducersOptions,
    lookUp: TopicLookup,
    logger: Logger,
    role?: string,
  ) {
    const { groupId, journalTopic, transactionTimeoutMs = 60_000 } = options;
    const transactionalId = `${journalTopic}-${role ?? shards[0]}`;
    this.#who = role === undefined ? `shard ${shards[0]}` : transactionalId;
    this.#shards = shards;
    this.#options = options;
    this.#lookUp = lookUp;
    this.#timeoutMs = transactionTimeoutMs;
    this.#roomBytes = (topic) => headBytes({ clientId: connect.clientId, transactionalId, topic });
    const access = {
      topic: journalTopic,
      journal: journalTopic,
      group: groupId,
      transactionalIds: `${journalTopic}-${role ?? ''}`,
    };
    const { signal } = this.#ended;
    this.#producer = new BatchProducer(
      connect,
      { transactionalId, transactionTimeoutMs, access, signal },
      logger,
    );
  }

  async fence(): Promise<void> {
    await this.#beforeTimeout(this.#producer.initialise([this.#options.journalTopic]));
  }

  async commit(transaction: AnyTransaction): Promise<{ readonly journalOffset: number }> {
    if (this.#busy)
      throw new TransactionError('aborted', 'another transaction of this producer is in flight');
    const { signal } = this.#ended;
    if (signal.aborted) {
      const { message } = signal.reason as Error;
      throw new TransactionError('aborted', `this producer can no longer be used: ${message}`);
    }
    this.#busy = true;
    this.#phase = 'sending';
    try {
      return { journalOffset: await this.#beforeTimeout(this.#run(transaction)) };
    } catch (error) {
      this.#ended.abort(new Error('a transaction failed'));
      if (error instanceof TransactionError) throw error;
      const when = this.#phase === 'sending' ? 'before the commit' : 'at the commit';
      throw new TransactionError(
        transactionFailure(error, this.#phase),
        `transaction of ${this.#who} failed ${when}: ${explain(error)}`,
        { cause: error },
      );
    } finally {
      this.#busy = false;
    }
  }

  get trouble(): string | undefined {
    return this.#producer.lastFailure;
  }

  async close(): Promise<void> {
    this.#ended.abort(new Error('the producer is closed'));
    await this.#producer.close();
  }

  /** Returns the offset of the first journal record. Reads the caller's offsets only after all sends. */
  async #run(transaction: AnyTransaction): Promise<number> {
    const { sourceTopic, groupId } = this.#options;
    const { journal = [], outputs = [] } = transaction;
    const planned = await this.#planOutputs(outputs);
    if (journal.length > 0) planned.unshift(await this.#planJournal(journal));
    const partitions = planned.map(({ topic, batches }): [string, Set<number>] => [
      topic,
      new Set(batches.map((one) => one.partition)),
    ]);
    await this.#producer.begin(new Map(partitions));

    let journalOffset: number | undefined;
    for (const output of planned) {
      const first = await this.#send(output);
      journalOffset ??= first;
    }

    const { offsets = [] } = transaction;
    if (offsets.length > 0) await this.#producer.sendOffsets(groupId, sourceTopic, offsets);
    await this.#producer.end(true, () => {
      this.#ended.signal.throwIfAborted();
      this.#phase = 'committing';
    });
    return journalOffset as number;
  }

  async #planJournal(journal: readonly JournalWrite[]): Promise<PlannedOutput> {
    const { journalTopic: topic } = this.#options;
    const { maxMessageBytes } = await this.#lookUp(topic);
    const records = EncodedRecords.of(journal);
    const sendBytes = sendBytesFor(maxMessageBytes);
    const batches = this.#shards.flatMap((shard) => planBatchesTo(shard, records, sendBytes));
    return { topic, records, batches };
  }

  async #planOutputs(outputs: NonNullable<Transaction['outputs']>): Promise<PlannedOutput[]> {
    this.#rotation++;
    const plans: PlannedOutput[] = [];
    for (const { topic, records } of outputs) {
      if (records.length === 0) continue;
      const { partitions, maxMessageBytes } = await this.#lookUp(topic);
      // Once a transaction has failed, the caller may reuse the bytes of its records.
      this.#ended.signal.throwIfAborted();
      const nullKeyPartition = this.#rotation % partitions;
      const maxBytes = sendBytesFor(maxMessageBytes);
      const batches = planBatches(records, partitions, nullKeyPartition, maxBytes);
      plans.push({ topic, records, batches });
    }
    return plans;
  }

  /** Returns the offset of the first record, or undefined if there is none. */
  async #send(output: PlannedOutput): Promise<number | undefined> {
    const bytes = output.batches.reduce((sum, one) => sum + one.bytes, 0);
    const limit = pLimit(bytes > MAX_SEND_BYTES ? 1 : CONCURRENT_SENDS);
    const byPartition = Map.groupBy(output.batches, (one) => one.partition);
    const firsts = await limit.map(byPartition.values(), async (batches) => {
      try {
        return await this.#sendInOrder(output, batches);
      } catch (error) {
        // Stops the sends to the other partitions.
        this.#ended.abort(new Error('a transaction failed'));
        throw error;
      }
    });
    return firsts[0];
  }

  async #sendInOrder(
    { topic, records }: PlannedOutput,
    batches: readonly PlannedBatch[],
  ): Promise<number | undefined> {
    let first: number | undefined;
    for (const planned of batches) {
      // Nothing may be sent once the transaction has failed for its caller.
      this.#ended.signal.throwIfAborted();
      const batch = new OutgoingBatch(this.#options.pool, records, planned, this.#roomBytes(topic));
      const offset = await this.#producer.send(topic, batch);
      first ??= offset;
    }
    return first;
  }

  async #beforeTimeout<T>(work: Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        const { lastFailure } = this.#producer;
        const why = lastFailure === undefined ? '' : `: ${lastFailure}`;
        const message = `transaction of ${this.#who} took longer than ${this.#timeoutMs} ms${why}`;
        const failure = this.#phase === 'sending' ? 'aborted' : 'unknown';
        this.#ended.abort(new Error(message));
        reject(new TransactionError(failure, message));
      }, this.#timeoutMs);
    });
    work.catch(() => undefined);
    try {
      return await Promise.race([work, late]);
    } finally {
      clearTimeout(timer);
    }
  }
}
