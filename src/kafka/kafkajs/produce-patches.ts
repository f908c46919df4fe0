/** Mends 5 and 6 of kafkajs-fixes.ts: from a send to the socket. */

import type { BatchMessage } from '../producer/send-batch.ts';
import {
  type CreateRetry,
  type EosManager,
  internal,
  type KafkaError,
  type KafkaErrorClass,
  type Leader,
  type ProduceOptions,
  type Request,
  type RequestFrame,
  replace,
} from './internals.ts';

interface Cluster {
  addMultipleTargetTopics(topics: readonly string[]): Promise<void>;
  refreshMetadataIfNecessary(): Promise<void>;
  refreshMetadata(): Promise<void>;
  /** Node ids with the partitions that they lead. */
  findLeaderForPartitions(
    topic: string,
    partitions: readonly number[],
  ): Readonly<Record<string, readonly number[]>>;
  findBroker(options: { nodeId: string }): Promise<Leader>;
  removeBroker(address: { host: string; port: number }): void;
  isConnected(): boolean;
  connect(): Promise<void>;
}
interface SendParts {
  readonly logger: {
    debug(message: string, fields: object): void;
    error(message: string, fields: object): void;
  };
  readonly cluster: Cluster;
  readonly eosManager: EosManager;
  readonly retrier: ReturnType<CreateRetry>;
}
interface Sending {
  readonly acks: number;
  readonly timeout?: number;
  readonly topicMessages: readonly {
    readonly topic: string;
    readonly messages: readonly Partial<BatchMessage>[];
  }[];
}

/** Sequence numbers are 31 bits wide and begin at 0 again. */
const SEQUENCES = 2 ** 31;
/** The next sequence number by `topic:partition`. kafkajs's own count begins at 0 too early, where a broker refuses it. */
const sequences = new WeakMap<EosManager, Map<string, number>>();

/**
 * Mend 5: a send was grouped by partition in time that grew with the square of its messages, each message became an encoder, and
 * each record was copied six times (src/producer/sendMessages.js and what it calls). A partition that the metadata did not name
 * lost its messages without an error, and the sequence numbers of a producer broke after 2³¹ records. Now a send is one message
 * with one whole batch (produce/outgoing-batch.ts), and everything around it is as before: leader, partitions of the transaction,
 * lock of the broker, retries and refreshed metadata.
 */
export function sendWholeBatches(): void {
  const { KafkaJSMetadataNotLoaded, KafkaJSNonRetriableError } = internal<{
    readonly KafkaJSMetadataNotLoaded: KafkaErrorClass;
    readonly KafkaJSNonRetriableError: KafkaErrorClass;
  }>('errors.js');
  const { staleMetadata } = internal<{ staleMetadata(error: KafkaError): boolean }>(
    'protocol/error.js',
  );

  const needsMetadata = (error: KafkaError): boolean =>
    staleMetadata(error) ||
    error.name === 'KafkaJSMetadataNotLoaded' ||
    error.name === 'KafkaJSConnectionError' ||
    error.name === 'KafkaJSConnectionClosedError' ||
    (error.name === 'KafkaJSProtocolError' && error.retriable === true);

  /** @throws KafkaJSNonRetriableError for anything but one batch that all replicas acknowledge */
  const onlyBatch = ({ acks, topicMessages: [wanted, ...others] }: Sending) => {
    const batch = wanted?.messages[0]?.batch;
    if (batch === undefined || wanted?.messages.length !== 1 || others.length > 0 || acks !== -1)
      throw new KafkaJSNonRetriableError('a send is one batch, which all replicas acknowledge');
    return { topic: wanted.topic, batch };
  };

  replace('producer/sendMessages.js', ({ logger, cluster, eosManager, retrier }: SendParts) => {
    const produce = async (sending: Sending): Promise<object[]> => {
      const { topic, batch } = onlyBatch(sending);
      const { partition, count } = batch;
      await cluster.refreshMetadataIfNecessary();
      const [nodeId] = Object.keys(cluster.findLeaderForPartitions(topic, [partition]));
      if (nodeId === undefined)
        throw new KafkaJSMetadataNotLoaded(`partition ${partition} of topic ${topic} is not known`);
      const leader = await cluster.findBroker({ nodeId });
      await eosManager.acquireBrokerLock(leader);
      try {
        const transactional = eosManager.isTransactional();
        if (transactional)
          await eosManager.addPartitionsToTransaction([{ topic, partitions: [{ partition }] }]);
        const known = sequences.get(eosManager) ?? new Map<string, number>();
        sequences.set(eosManager, known);
        const place = `${topic}:${partition}`;
        const sequence = known.get(place) ?? 0;
        const producer = {
          producerId: eosManager.getProducerId(),
          producerEpoch: eosManager.getProducerEpoch(),
        };
        batch.seal({
          producerId: BigInt(producer.producerId),
          producerEpoch: producer.producerEpoch,
          sequence,
          transactional,
        });
        const { acks, timeout } = sending;
        const transactionalId = transactional ? eosManager.getTransactionalId() : undefined;
        const { topics } = await leader.produce({
          acks,
          timeout,
          transactionalId,
          ...producer,
          topicData: { topic, batch },
        });
        // Only what was appended counts: after an error the same batch comes with the same number.
        known.set(place, (sequence + count) % SEQUENCES);
        return topics.flatMap(({ topicName, partitions }) =>
          partitions.map((answer) => ({ topicName, ...answer })),
        );
      } finally {
        await eosManager.releaseBrokerLock(leader);
      }
    };

    return (sending: Sending): Promise<unknown> =>
      retrier(async (bail, retryCount, retryTime) => {
        const tries = { retryCount, retryTime };
        await cluster.addMultipleTargetTopics(sending.topicMessages.map(({ topic }) => topic));
        try {
          return await produce(sending);
        } catch (thrown) {
          const error = thrown as KafkaError;
          if (error.name === 'KafkaJSConnectionClosedError')
            cluster.removeBroker({ host: error.host, port: error.port });
          if (!cluster.isConnected()) {
            logger.debug(`Cluster has disconnected, reconnecting: ${error.message}`, tries);
            await cluster.connect();
            await cluster.refreshMetadata();
            throw error;
          }
          if (needsMetadata(error)) {
            logger.error(`Failed to send messages: ${error.message}`, tries);
            await cluster.refreshMetadata();
            throw error;
          }
          logger.error(error.message, tries);
          if (error.retriable === true) throw error;
          bail(error);
          return undefined;
        }
      });
  });
}

/**
 * Mend 6: a request was copied five times on its way to the socket, each time into a buffer of up to twice its size that was filled
 * with zeros (src/protocol/requests/produce/v3/request.js, which the later versions build on, and src/protocol/request.js). A
 * produce request is written in front of its batch, in the same buffer.
 */
export function writeRequestsInPlace(): void {
  replace(
    'protocol/requests/produce/v3/request.js',
    ({
      acks,
      timeout,
      transactionalId,
      topicData: { topic, batch },
    }: ProduceOptions & { readonly timeout: number }): Request => ({
      apiKey: 0,
      apiVersion: 3,
      apiName: 'Produce',
      expectResponse: () => true,
      frame: (apiVersion, correlationId, clientId) =>
        batch.request({
          apiVersion,
          correlationId,
          clientId,
          transactionalId,
          acks,
          timeoutMs: timeout,
          topic,
        }),
    }),
  );
  const frameOf = internal<RequestFrame>('protocol/request.js');
  const inPlace: RequestFrame = async (given) => {
    const { request, correlationId, clientId } = given;
    return request.frame === undefined
      ? await frameOf(given)
      : { buffer: request.frame(request.apiVersion, correlationId, clientId) };
  };
  replace('protocol/request.js', inPlace);
}
