/**
 * Diagnosis of a cluster and of this client's rights, without a consumer or a producer. Never joins
 * a group or changes the cluster.
 */
import type { TopicSpec } from '../../core/ports/kafka.ts';
import type { Logger } from '../../core/ports/telemetry.ts';
import { ClusterConnection, coordinatorOf, describeGroup } from '../cluster-connection.ts';
import type { ConnectOptions } from '../connect.ts';
import { PROTOCOL_NAME } from '../consumer/assigner.ts';
import { explain, protocolErrorOf } from '../errors.ts';
import { createTopic } from './admin.ts';

export interface BrokerAnswer {
  readonly id: number;
  /** Advertised address: `host:port`. */
  readonly address: string;
  /** Reason why the broker cannot be reached at this address, with the remedy. undefined if it can be reached. */
  readonly failure: string | undefined;
}

export interface GroupDescription {
  /** Kafka's name: Stable, Empty, Dead, … */
  readonly state: string;
  /** `consumer` for a consumer group, empty for a group without members. */
  readonly protocolType: string;
  /** Name of the assigner that the members agreed on. Empty until then. */
  readonly protocol: string;
  /** True if all members are replicas of this connector. */
  readonly isOurs: boolean;
  readonly members: readonly { readonly clientId: string; readonly host: string }[];
}

/** Errors with which brokers reject ending a transaction of a producer that does not exist. */
const NO_SUCH_TRANSACTION =
  /^(INVALID_PRODUCER_ID_MAPPING|INVALID_PRODUCER_EPOCH|INVALID_TXN_STATE|PRODUCER_FENCED)$/;

/** Inspector of a cluster. Each method rejects with an error that contains the cause and the remedy. */
export class KafkaClusterInspector {
  readonly #connect: ConnectOptions;
  readonly #logger: Logger;
  readonly #connection: ClusterConnection;

  constructor(connect: ConnectOptions, logger: Logger) {
    this.#connect = connect;
    this.#logger = logger;
    this.#connection = new ClusterConnection(connect, logger);
  }

  /** Connects to one address of the configuration and logs in. */
  async connect(address: string): Promise<void> {
    const only = { ...this.#connect, brokers: [address] };
    const connection = new ClusterConnection(only, this.#logger, 0);
    try {
      await connection.request(`connect to ${address}`, {}, async () => undefined);
    } finally {
      await connection.close();
    }
  }

  /** Sends a request to every broker of the cluster at its own address. */
  async brokers(): Promise<readonly BrokerAnswer[]> {
    return await this.#connection.request('list the brokers', {}, async (cluster) => {
      await cluster.refreshMetadata();
      const known = [...cluster.brokerPool.metadata.brokers].sort((a, b) => a.nodeId - b.nodeId);
      return await Promise.all(
        known.map(async ({ nodeId, host, port }): Promise<BrokerAnswer> => {
          const failure = await cluster.findBroker({ nodeId }).then(
            () => undefined,
            (error: unknown) => explain(error, { principal: this.#connect.security?.principal }),
          );
          return { id: nodeId, address: `${host}:${port}`, failure };
        }),
      );
    });
  }

  async group(id: string): Promise<GroupDescription> {
    const what = `describe group ${id}`;
    return await this.#connection.request(what, { group: id }, async (cluster) => {
      const { members, ...group } = await describeGroup(cluster, id);
      const { protocolType, protocol } = group;
      return {
        ...group,
        isOurs:
          protocolType === '' ||
          (protocolType === 'consumer' && protocol === '') ||
          protocol === PROTOCOL_NAME,
        members: members.map(({ clientId, clientHost }) => ({ clientId, host: clientHost })),
      };
    });
  }

  /**
   * Checks the right to write with an unused transactional id by ending a transaction that does not
   * exist, so no producer is initialised. Rejects if the right is missing.
   */
  async tryTransactionalId(id: string): Promise<void> {
    const what = `use the transactional id ${id}`;
    // Ids have the form `<journal>-…`, and rights are granted for that prefix.
    const access = { transactionalIds: id.slice(0, id.lastIndexOf('-') + 1) };
    await this.#connection.request(what, access, async (cluster) => {
      const coordinator = await coordinatorOf(cluster, 'transaction', id);
      try {
        // Brokers check the right before they look for the transaction.
        await coordinator.endTxn({
          transactionalId: id,
          producerId: '0',
          producerEpoch: 0,
          transactionResult: false,
        });
      } catch (error) {
        if (!NO_SUCH_TRANSACTION.test(protocolErrorOf(error) ?? '')) throw error;
      }
    });
  }

  /** Checks whether the topic could be created, without creating it. */
  async tryCreate(topic: string, spec: TopicSpec): Promise<void> {
    const access = { topic, operation: 'CREATE' };
    await this.#connection.request(`create topic ${topic}`, access, (cluster) =>
      createTopic(cluster, topic, spec, true),
    );
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }
}

export type ClusterInspector = Pick<KafkaClusterInspector, keyof KafkaClusterInspector>;
