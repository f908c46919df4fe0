/** ClusterProbe over kafkajs: what is asked goes out as single requests, without a consumer or a producer around them. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from 'kafkajs';
import type {
  BrokerAnswer,
  ClusterProbe,
  GroupDescription,
  TopicReplicas,
} from '../../core/ports/cluster-probe.ts';
import type { TopicSpec } from '../../core/ports/kafka.ts';
import type { Logger } from '../../core/ports/telemetry.ts';
import { ClusterConnection } from '../client/cluster-connection.ts';
import { Client, type ConnectOptions, clusterOf } from '../client/connect.ts';
import { explain, protocolErrorOf } from '../client/errors.ts';
import type { Asked } from '../client/missing-acl.ts';
import { PROTOCOL_NAME } from '../consumer/assigner-protocol.ts';
import { ConfigResourceTypes, protocolError } from '../kafkajs/patches.ts';
import {
  DESCRIBE_GROUPS,
  describeGroup,
  describeTopic,
  type GroupAnswer,
  METADATA,
  type ProtocolRequest,
  type TopicAnswer,
} from './allowed-operations.ts';
import { missingRequests, type RequestVersions } from './required-apis.ts';

/** What kafkajs's types leave out. */
interface ProbedBroker {
  readonly nodeId: string | number;
  readonly versions: RequestVersions | null;
  readonly connectionPool: { send<T>(request: ProtocolRequest<T>): Promise<T> };
  connect(): Promise<void>;
  apiVersions(): Promise<RequestVersions>;
  metadata(topics: readonly string[]): Promise<{
    readonly topicMetadata: readonly {
      readonly partitionMetadata: readonly {
        readonly partitionId: number;
        readonly leader: number;
        readonly replicas: readonly number[];
        readonly isr: readonly number[];
      }[];
    }[];
  }>;
  describeGroups(request: { readonly groupIds: readonly string[] }): Promise<{
    readonly groups: readonly {
      readonly state: string;
      readonly protocolType: string;
      readonly protocol: string;
      readonly members: readonly { readonly clientId: string; readonly clientHost: string }[];
    }[];
  }>;
  endTxn(request: object): Promise<unknown>;
  initProducerId(request: {
    readonly transactionalId: string;
    readonly transactionTimeout: number;
  }): Promise<unknown>;
  describeConfigs(request: object): Promise<{
    readonly resources: readonly {
      readonly configEntries: readonly { configName: string; configValue: string | null }[];
    }[];
  }>;
  createTopics(request: object): Promise<unknown>;
}
interface ProbedCluster {
  readonly brokerPool: {
    readonly metadata: {
      readonly brokers: readonly { nodeId: number; host: string; port: number }[];
    };
  };
  findControllerBroker(): Promise<ProbedBroker>;
  findBroker(node: { readonly nodeId: number }): Promise<ProbedBroker>;
  findGroupCoordinator(of: {
    readonly groupId: string;
    readonly coordinatorType: number;
  }): Promise<ProbedBroker>;
}

const NO_RETRY = { retries: 0 };
const METADATA_MAX_AGE_MS = 60_000;
const CLOSE_GRACE_MS = 500;
const CREATE_TIMEOUT_MS = 5_000;
const COORDINATOR = { group: 0, transaction: 1 } as const;
const UNKNOWN_TOPIC = 3;
/** The answers to an end of a transaction that was never begun, by a producer that never was. */
const NO_SUCH_TRANSACTION =
  /^(INVALID_PRODUCER_ID_MAPPING|INVALID_PRODUCER_EPOCH|INVALID_TXN_STATE|PRODUCER_FENCED)$/;
/** What passes by itself: a coordinator that loads, a transaction that is being aborted. */
const PASSES =
  /^(CONCURRENT_TRANSACTIONS|NOT_COORDINATOR_FOR_GROUP|GROUP_LOAD_IN_PROGRESS|GROUP_COORDINATOR_NOT_AVAILABLE)$/;
const TRIES = 5;
const RETRY_MS = 100;

export class KafkaClusterProbe implements ClusterProbe {
  readonly #connect: ConnectOptions;
  readonly #logger: Logger;
  readonly #connection: ClusterConnection;

  constructor(connect: ConnectOptions, logger: Logger) {
    this.#connect = connect;
    this.#logger = logger;
    this.#connection = new ClusterConnection(connect, logger);
  }

  async connect(address: string): Promise<void> {
    const client = new Client({ ...this.#connect, brokers: [address] }, this.#logger, NO_RETRY);
    const cluster = clusterOf(client, METADATA_MAX_AGE_MS);
    try {
      await cluster.connect();
    } catch (error) {
      throw new Error(explain(error, this.#asked({})), { cause: error });
    } finally {
      await client.close(() => cluster.disconnect(), CLOSE_GRACE_MS);
    }
  }

  async brokers(): Promise<readonly BrokerAnswer[]> {
    return await this.#ask('ask for the brokers', {}, async (cluster) => {
      const known = [...cluster.brokerPool.metadata.brokers].sort((a, b) => a.nodeId - b.nodeId);
      return await Promise.all(
        known.map(async ({ nodeId, host, port }): Promise<BrokerAnswer> => {
          const about = { id: nodeId, address: `${host}:${port}` };
          try {
            const broker = await cluster.findBroker({ nodeId });
            return {
              ...about,
              failure: undefined,
              missing: missingRequests(await broker.apiVersions()),
            };
          } catch (error) {
            return { ...about, failure: explain(error, this.#asked({})), missing: [] };
          }
        }),
      );
    });
  }

  async topic(topic: string): Promise<TopicReplicas | undefined> {
    return await this.#ask(
      `describe topic ${topic}`,
      { topic, operation: this.#connect.uses?.get(topic) },
      async (cluster) => {
        const broker = await cluster.findControllerBroker();
        if (!speaks(broker, METADATA)) return await olderTopic(broker, topic);
        const answer = await broker.connectionPool.send<TopicAnswer>(describeTopic(topic));
        if (answer.errorCode === UNKNOWN_TOPIC) return undefined;
        failWith(answer);
        return answer;
      },
    );
  }

  async group(id: string): Promise<GroupDescription> {
    return await this.#ask(`describe group ${id}`, { group: id }, async (cluster) => {
      const broker = await cluster.findGroupCoordinator({
        groupId: id,
        coordinatorType: COORDINATOR.group,
      });
      const found = speaks(broker, DESCRIBE_GROUPS)
        ? await broker.connectionPool.send<GroupAnswer>(describeGroup(id))
        : await olderGroup(broker, id);
      failWith(found);
      const { protocolType, protocol } = found;
      return {
        ...found,
        isOurs:
          protocolType === '' ||
          (protocolType === 'consumer' && protocol === '') ||
          protocol === PROTOCOL_NAME,
      };
    });
  }

  async tryTransactionalId(id: string): Promise<void> {
    await this.#ask(
      `use the transactional id ${id}`,
      { transactionalIds: prefixOf(id) },
      async (cluster) => {
        const broker = await cluster.findGroupCoordinator({
          groupId: id,
          coordinatorType: COORDINATOR.transaction,
        });
        try {
          // The right is asked for before the transaction is looked for.
          await broker.endTxn({
            transactionalId: id,
            producerId: 0,
            producerEpoch: 0,
            transactionResult: false,
          });
        } catch (error) {
          if (!NO_SUCH_TRANSACTION.test(protocolErrorOf(error) ?? '')) throw error;
        }
      },
    );
  }

  async openTransactionalId(id: string, transactionTimeoutMs: number): Promise<void> {
    await this.#ask(
      `initialise the transactional id ${id}`,
      { transactionalIds: prefixOf(id) },
      async (cluster) => {
        const broker = await cluster.findGroupCoordinator({
          groupId: id,
          coordinatorType: COORDINATOR.transaction,
        });
        await broker.initProducerId({
          transactionalId: id,
          transactionTimeout: transactionTimeoutMs,
        });
      },
    );
  }

  async brokerSettings(names: readonly string[]): Promise<ReadonlyMap<string, string> | undefined> {
    return await this.#ask(
      'read the settings of a broker',
      { operation: 'DESCRIBE_CONFIGS' },
      async (cluster) => {
        const broker = await cluster.findControllerBroker();
        try {
          const { resources } = await broker.describeConfigs({
            includeSynonyms: false,
            resources: [
              { type: ConfigResourceTypes.BROKER, name: String(broker.nodeId), configNames: names },
            ],
          });
          const entries = resources[0]?.configEntries ?? [];
          return new Map(
            entries.map(({ configName, configValue }) => [configName, configValue ?? '']),
          );
        } catch (error) {
          if (protocolErrorOf(error) === 'CLUSTER_AUTHORIZATION_FAILED') return undefined;
          throw error;
        }
      },
    );
  }

  async tryCreate(
    topic: string,
    { partitions: numPartitions, replicationFactor, settings }: TopicSpec,
  ): Promise<void> {
    await this.#ask(`create topic ${topic}`, { topic, operation: 'CREATE' }, async (cluster) => {
      const broker = await cluster.findControllerBroker();
      const configEntries = [...settings].map(([name, value]) => ({ name, value }));
      await broker.createTopics({
        validateOnly: true,
        timeout: CREATE_TIMEOUT_MS,
        topics: [{ topic, numPartitions, replicationFactor, configEntries }],
      });
    });
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  #asked(asked: Asked): Asked {
    return { ...asked, principal: this.#connect.security?.principal };
  }

  async #ask<T>(
    what: string,
    asked: Asked,
    question: (cluster: ProbedCluster) => Promise<T>,
  ): Promise<T> {
    for (let failures = 0; ; failures++) {
      try {
        const cluster: Cluster = await this.#connection.cluster();
        await cluster.refreshMetadataIfNecessary();
        return await question(cluster as unknown as ProbedCluster);
      } catch (error) {
        if (failures + 1 >= TRIES || !PASSES.test(protocolErrorOf(error) ?? ''))
          throw new Error(`cannot ${what}: ${explain(error, this.#asked(asked))}`, {
            cause: error,
          });
        await sleep(RETRY_MS * 2 ** failures);
        await this.#connection.refresh();
      }
    }
  }
}

/** A transactional id here is `<journal>-…`, and rights are given by that beginning. */
const prefixOf = (id: string): string => id.slice(0, id.lastIndexOf('-') + 1);

function speaks(
  { versions }: ProbedBroker,
  { apiKey, apiVersion }: { apiKey: number; apiVersion: number },
): boolean {
  const has = versions?.[apiKey];
  return has !== undefined && has.minVersion <= apiVersion && has.maxVersion >= apiVersion;
}

function failWith({ errorCode }: { readonly errorCode: number }): void {
  if (errorCode !== 0) throw protocolError(errorCode);
}

async function olderTopic(broker: ProbedBroker, topic: string): Promise<TopicReplicas | undefined> {
  try {
    const [found] = (await broker.metadata([topic])).topicMetadata;
    const partitions = (found?.partitionMetadata ?? []).map(
      ({ partitionId, leader, replicas, isr }) => ({
        partition: partitionId,
        leader,
        replicas: replicas.length,
        inSync: isr.length,
      }),
    );
    return { partitions, allowed: undefined };
  } catch (error) {
    if (protocolErrorOf(error) === 'UNKNOWN_TOPIC_OR_PARTITION') return undefined;
    throw error;
  }
}

async function olderGroup(broker: ProbedBroker, id: string): Promise<GroupAnswer> {
  const [found] = (await broker.describeGroups({ groupIds: [id] })).groups;
  const { state = 'Dead', protocolType = '', protocol = '', members = [] } = found ?? {};
  return {
    errorCode: 0,
    state,
    protocolType,
    protocol,
    members: members.map(({ clientId, clientHost }) => ({ clientId, host: clientHost })),
    allowed: undefined,
  };
}
