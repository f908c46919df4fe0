/** Transactional producers, one per shard (invariant I3). The order of calls inside a transaction is FINDINGS'. */
import type { Transaction as KafkaTransaction, Producer } from 'kafkajs';
import type { BufferPool } from '../../core/bytes/buffer-pool.ts';
import { EncodedRecords } from '../../core/bytes/encoded-records.ts';
import {
  type ShardProducer,
  type ShardProducers,
  type Transaction,
  TransactionError,
} from '../../core/ports/kafka.ts';
import type { Logger } from '../../core/ports/telemetry.ts';
import { Client, type ConnectOptions } from '../client/connect.ts';
import { explain } from '../client/errors.ts';
import type { Asked } from '../client/missing-acl.ts';
import { announcePartitions } from '../kafkajs/patches.ts';
import { headBytes, OutgoingBatch, type PlannedBatch } from './outgoing-batch.ts';
import { sendBatch } from './send-batch.ts';
import { planBatches, planBatchesTo, sendBytesFor } from './send-plan.ts';
import { classify, type TransactionPhase } from './transaction-failure.ts';

export interface ProducersOptions {
  readonly groupId: string;
  readonly sourceTopic: string;
  readonly journalTopic: string;
  /** For the requests that carry records. */
  readonly pool: BufferPool;
  /** After this the broker aborts a transaction by itself; a commit that takes longer fails. Default 60,000 ms. */
  readonly transactionTimeoutMs?: number;
}

/** Facts about a topic that a producer needs, at most a few minutes old. */
export interface WritableTopic {
  readonly partitions: number;
  /** undefined when the settings of the topic may not be read. */
  readonly maxMessageBytes: number | undefined;
}
export type TopicLookup = (topic: string) => Promise<WritableTopic>;

/**
 * The first send of a transaction is refused (CONCURRENT_TRANSACTIONS) until the markers of the one before are written, which
 * takes a few milliseconds: kafkajs's own 300 ms would be most of a small transaction's time.
 */
const RETRY = { initialRetryTime: 5, multiplier: 2, maxRetryTime: 1_000, retries: 60 };
const METADATA_MAX_AGE_MS = 5 * 60_000;
/** How long requests under way may take when a producer is closed. */
const CLOSE_GRACE_MS = 1_000;

export class KafkaShardProducers implements ShardProducers {
  readonly #connect: ConnectOptions;
  readonly #options: ProducersOptions;
  readonly #lookUp: TopicLookup;
  readonly #logger: Logger;

  constructor(
    connect: ConnectOptions,
    options: ProducersOptions,
    lookUp: TopicLookup,
    logger: Logger,
  ) {
    this.#connect = connect;
    this.#options = options;
    this.#lookUp = lookUp;
    this.#logger = logger;
  }

  open(shard: number): ShardProducer {
    return new KafkaShardProducer(
      shard,
      this.#connect,
      this.#options,
      this.#lookUp,
      this.#logger.child({ shard }),
    );
  }
}

/** Batches for one topic. */
interface PlannedOutput {
  readonly topic: string;
  readonly records: EncodedRecords;
  readonly batches: readonly PlannedBatch[];
}

class KafkaShardProducer implements ShardProducer {
  readonly #shard: number;
  readonly #clientId: string;
  readonly #options: ProducersOptions;
  readonly #lookUp: TopicLookup;
  readonly #client: Client;
  readonly #producer: Producer;
  readonly #principal: string | undefined;
  /** For messages about rights. */
  #doing: { readonly operation: 'READ' | 'WRITE'; readonly topic: string };
  #connected = false;
  #busy = false;
  #dead: string | undefined;
  /** Records without a key rotate over the partitions, one transaction at a time, to keep sends few. */
  #rotation = Math.floor(Math.random() * 1_000);

  constructor(
    shard: number,
    connect: ConnectOptions,
    options: ProducersOptions,
    lookUp: TopicLookup,
    logger: Logger,
  ) {
    this.#shard = shard;
    this.#options = options;
    this.#lookUp = lookUp;
    this.#doing = { operation: 'WRITE', topic: options.journalTopic };
    this.#clientId = connect.clientId;
    this.#principal = connect.security?.principal;
    this.#client = new Client(connect, logger, RETRY);
    this.#producer = this.#client.kafka.producer({
      transactionalId: this.#transactionalId,
      // Transactions are idempotent without the flag `idempotent`, which would only fetch a second producer id.
      maxInFlightRequests: 1,
      transactionTimeout: this.#timeoutMs,
      allowAutoTopicCreation: false,
      // Without one kafkajs warns about its default. Batches name their partition.
      createPartitioner: () => () => 0,
      metadataMaxAge: METADATA_MAX_AGE_MS,
      retry: RETRY,
    });
  }

  async commit(transaction: Transaction): Promise<{ readonly journalOffset: number }> {
    if (this.#busy)
      throw new TransactionError(
        'aborted',
        'another transaction of this producer is still running',
      );
    if (this.#dead !== undefined)
      throw new TransactionError('aborted', `this producer cannot be used any more: ${this.#dead}`);
    this.#busy = true;
    const progress: { phase: TransactionPhase } = { phase: 'sending' };
    try {
      return {
        journalOffset: await this.#beforeTimeout(this.#run(transaction, progress), progress),
      };
    } catch (error) {
      this.#dead ??= 'a transaction failed';
      if (error instanceof TransactionError) throw error;
      const failure = classify(error, progress.phase);
      const doing = progress.phase === 'sending' ? 'before the commit' : 'at the commit';
      throw new TransactionError(
        failure,
        `transaction of shard ${this.#shard} failed ${doing}: ${explain(error, this.#asked)}`,
        {
          cause: error,
        },
      );
    } finally {
      this.#busy = false;
    }
  }

  async close(): Promise<void> {
    this.#dead ??= 'it is closed';
    await this.#client.close(() => this.#producer.disconnect(), CLOSE_GRACE_MS);
  }

  get #transactionalId(): string {
    return `${this.#options.journalTopic}-${this.#shard}`;
  }

  get #asked(): Asked {
    const { groupId, journalTopic } = this.#options;
    return {
      ...this.#doing,
      group: groupId,
      transactionalIds: `${journalTopic}-`,
      principal: this.#principal,
    };
  }

  get #timeoutMs(): number {
    return this.#options.transactionTimeoutMs ?? 60_000;
  }

  async #run(wanted: Transaction, progress: { phase: TransactionPhase }): Promise<number> {
    const outputs = await this.#planOutputs(wanted.outputs ?? []);
    const { journalTopic, sourceTopic, groupId } = this.#options;
    const { maxMessageBytes } = await this.#lookUp(journalTopic);
    if (!this.#connected) {
      await this.#producer.connect();
      this.#connected = true;
    }
    const transaction = await this.#producer.transaction();
    announcePartitions(
      this.#transactionalId,
      new Map(
        outputs.map(({ topic, batches }) => [
          topic,
          new Set(batches.map(({ partition }) => partition)),
        ]),
      ),
    );
    // A send comes first: offsets first fail with CONCURRENT_TRANSACTIONS, which kafkajs does not retry there.
    const records = EncodedRecords.of(wanted.journal);
    const batches = planBatchesTo(this.#shard, records, sendBytesFor(maxMessageBytes));
    const journalOffset = await this.#send(transaction, { topic: journalTopic, records, batches });
    if (journalOffset === undefined)
      throw new TransactionError('rejected', 'a transaction needs at least one journal record');
    for (const output of outputs) await this.#send(transaction, output);
    if (wanted.offsets !== undefined && wanted.offsets.length > 0) {
      this.#checkAlive();
      // kafkajs sends `metadata` on, though its types do not know of it.
      const partitions = wanted.offsets.map(({ partition, offset, metadata }) => ({
        partition,
        offset: String(offset),
        metadata,
      }));
      // Offsets of a topic are for who may read it.
      this.#doing = { operation: 'READ', topic: sourceTopic };
      await transaction.sendOffsets({
        consumerGroupId: groupId,
        topics: [{ topic: sourceTopic, partitions }],
      });
    }
    this.#checkAlive();
    progress.phase = 'committing';
    await transaction.commit();
    return journalOffset;
  }

  async #planOutputs(outputs: NonNullable<Transaction['outputs']>): Promise<PlannedOutput[]> {
    this.#rotation++;
    const plans: PlannedOutput[] = [];
    for (const { topic, records } of outputs) {
      if (records.length === 0) continue;
      const { partitions, maxMessageBytes } = await this.#lookUp(topic);
      // The bytes of the records are the caller's again once the transaction has failed for it.
      this.#checkAlive();
      const batches = planBatches(
        records,
        partitions,
        this.#rotation % partitions,
        sendBytesFor(maxMessageBytes),
      );
      plans.push({ topic, records, batches });
    }
    return plans;
  }

  /** @returns the offset of the first record. */
  async #send(
    transaction: KafkaTransaction,
    { topic, records, batches }: PlannedOutput,
  ): Promise<number | undefined> {
    let first: number | undefined;
    const roomBytes = headBytes({
      clientId: this.#clientId,
      transactionalId: this.#transactionalId,
      topic,
    });
    for (const planned of batches) {
      this.#checkAlive();
      this.#doing = { operation: 'WRITE', topic };
      const batch = new OutgoingBatch(this.#options.pool, records, planned, roomBytes);
      const offset = await sendBatch(transaction, topic, batch);
      first ??= offset;
    }
    return first;
  }

  /** Nothing may follow once the transaction has failed for its caller. */
  #checkAlive(): void {
    if (this.#dead !== undefined) throw new Error(this.#dead);
  }

  async #beforeTimeout<T>(work: Promise<T>, progress: { phase: TransactionPhase }): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        const message = `transaction of shard ${this.#shard} took longer than ${this.#timeoutMs} ms`;
        this.#dead = message;
        reject(new TransactionError(progress.phase === 'sending' ? 'aborted' : 'unknown', message));
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
