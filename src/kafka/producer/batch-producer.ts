/**
 * Idempotent producer of record batches, one batch per request. With a transactional id, it sends
 * everything in transactions. The caller must send one request at a time to each partition.
 */
import type { OffsetCommit } from '../../core/ports/kafka.ts';
import type { Logger } from '../../core/ports/telemetry.ts';
import {
  ClusterConnection,
  controllerOf,
  coordinatorOf,
  leadersOf,
} from '../cluster-connection.ts';
import type { ConnectOptions } from '../connect.ts';
import { type RequestedAccess, toOffset } from '../errors.ts';
import type { KafkaBroker, KafkaCluster, ProducerIdentity } from '../kafkajs/shapes.ts';
import type { OutgoingBatch } from './outgoing-batch.ts';

/** Sequence numbers have 31 bits and wrap around to 0. */
const SEQUENCES = 2 ** 31;

interface BatchProducerOptions {
  /** undefined for a producer without transactions. */
  readonly transactionalId?: string | undefined;
  readonly transactionTimeoutMs: number;
  /** Rights that the producer needs, for error messages. */
  readonly access?: RequestedAccess;
  /** Ends retries when aborted. Requests in flight may still reach brokers. */
  readonly signal: AbortSignal;
}

export class BatchProducer {
  readonly #connection: ClusterConnection;
  readonly #options: BatchProducerOptions;
  #identity: ProducerIdentity | undefined;
  /** Next sequence number by `topic:partition`. */
  readonly #sequences = new Map<string, number>();
  /**
   * Node ids of the coordinators, cached until a request fails. kafkajs has no such cache, and
   * would look the coordinator up before each request of a transaction.
   */
  readonly #coordinators = new Map<'group' | 'transaction', KafkaBroker['nodeId']>();

  constructor(connect: ConnectOptions, options: BatchProducerOptions, logger: Logger) {
    this.#connection = new ClusterConnection(connect, logger, Infinity);
    this.#options = options;
  }

  /**
   * Begins a transaction. The first one fences every earlier producer of the transactional id and
   * aborts its open transaction.
   * @param partitions all partitions to which the transaction will write, by topic
   */
  async begin(partitions: ReadonlyMap<string, Iterable<number>>): Promise<void> {
    const topics = [...partitions].map(([topic, all]) => ({ topic, partitions: [...all] }));
    await this.initialise([...partitions.keys()]);
    if (this.#options.transactionalId === undefined) return;
    await this.#request('begin the transaction', { operation: 'WRITE' }, async (cluster) => {
      const coordinator = await this.#coordinator(cluster);
      await coordinator.addPartitionsToTxn({ ...this.#transaction, topics });
    });
  }

  /** Fences every earlier producer of the transactional id, and aborts its open transaction. Idempotent. */
  async initialise(topics: string[]): Promise<void> {
    const { transactionalId, transactionTimeoutMs } = this.#options;
    this.#identity ??= await this.#request('initialise the producer', {}, async (cluster) => {
      await cluster.addMultipleTargetTopics(topics);
      const broker = await (transactionalId === undefined
        ? controllerOf(cluster)
        : this.#coordinator(cluster));
      return await broker.initProducerId({
        transactionalId,
        transactionTimeout: transactionTimeoutMs,
      });
    });
  }

  /**
   * Sends a batch, and always releases it.
   * @returns the offset of its first record
   * @throws Error, after which it is unknown whether the batch was appended
   */
  async send(topic: string, batch: OutgoingBatch): Promise<number> {
    const { partition, count } = batch;
    const { transactionalId } = this.#options;
    const identity = this.#known;
    const place = `${topic}:${partition}`;
    const sequence = this.#sequences.get(place) ?? 0;
    let answered = false;
    try {
      batch.seal({
        producerId: BigInt(identity.producerId),
        producerEpoch: identity.producerEpoch,
        sequence,
        transactional: transactionalId !== undefined,
      });
      const what = `write to partition ${partition} of topic ${topic}`;
      const access = { operation: 'WRITE', topic };
      const baseOffset = await this.#request(what, access, async (cluster) => {
        const [found] = await leadersOf(cluster, topic, [partition]);
        this.#options.signal.throwIfAborted();
        const topicData = { topic, batch };
        const answer = await found?.[0].produce({
          acks: -1,
          transactionalId,
          ...identity,
          topicData,
        });
        return answer?.topics[0]?.partitions[0]?.baseOffset;
      });
      answered = true;
      // Advances only after success, because a retried batch must keep its sequence number.
      this.#sequences.set(place, (sequence + count) % SEQUENCES);
      return toOffset(baseOffset ?? '');
    } finally {
      batch.release(answered);
    }
  }

  /** Adds offsets of a group to the transaction. */
  async sendOffsets(
    groupId: string,
    topic: string,
    offsets: readonly OffsetCommit[],
  ): Promise<void> {
    const partitions = offsets.map(({ offset, ...one }) => ({ ...one, offset: String(offset) }));
    // Committing offsets of a topic requires the right to read it.
    const access = { operation: 'READ', topic };
    await this.#request(`add offsets of group ${groupId}`, access, async (cluster) => {
      const coordinator = await this.#coordinator(cluster);
      await coordinator.addOffsetsToTxn({ ...this.#transaction, groupId });
    });
    await this.#request(`commit offsets of group ${groupId}`, access, async (cluster) => {
      const coordinator = await this.#coordinator(cluster, 'group', groupId);
      const topics = [{ topic, partitions }];
      await coordinator.txnOffsetCommit({ ...this.#transaction, groupId, topics });
    });
  }

  /**
   * Ends the transaction. Sends the final request once, as its outcome may be unknown. @param onEnd
   * called before it
   */
  async end(commit: boolean, onEnd: () => void = () => undefined): Promise<void> {
    const what = commit ? 'commit' : 'abort';
    // Looks the coordinator up again. With a stale one the outcome could be unknown, or later
    // requests could be added to a transaction that has already ended on another broker.
    this.#coordinators.delete('transaction');
    const coordinator = await this.#request(what, {}, (cluster) => this.#coordinator(cluster));
    onEnd();
    await coordinator.endTxn({ ...this.#transaction, transactionResult: commit });
  }

  /** Closes the connections without aborting the transaction. Idempotent. */
  async close(): Promise<void> {
    await this.#connection.close();
  }

  /** Explanation of the failure that is being retried at present, if any. */
  get lastFailure(): string | undefined {
    return this.#connection.lastFailure;
  }

  get #known(): ProducerIdentity {
    if (this.#identity === undefined) throw new Error('no transaction was begun');
    return this.#identity;
  }

  get #transaction(): ProducerIdentity & { readonly transactionalId: string } {
    const { transactionalId = '' } = this.#options;
    return { transactionalId, ...this.#known };
  }

  /** Returns the coordinator of this producer's transactional id, or of the given id. */
  async #coordinator(
    cluster: KafkaCluster,
    type: 'group' | 'transaction' = 'transaction',
    id = this.#options.transactionalId ?? '',
  ): Promise<KafkaBroker> {
    const nodeId = this.#coordinators.get(type);
    if (nodeId !== undefined) return await cluster.findBroker({ nodeId });
    const found = await coordinatorOf(cluster, type, id);
    this.#coordinators.set(type, found.nodeId);
    return found;
  }

  #request<T>(
    what: string,
    access: RequestedAccess,
    run: (cluster: KafkaCluster) => Promise<T>,
  ): Promise<T> {
    const { access: own, signal } = this.#options;
    const attempt = async (cluster: KafkaCluster) => {
      try {
        return await run(cluster);
      } catch (error) {
        this.#coordinators.clear();
        throw error;
      }
    };
    return this.#connection.request(what, { ...own, ...access }, attempt, { signal });
  }
}
