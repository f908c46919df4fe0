/** Requests about one topic, for the admin and for the doctor. */
import type { TopicSpec } from '../../core/ports/kafka.ts';
import { controllerOf } from '../client/cluster-connection.ts';
import { protocolErrorOf } from '../errors.ts';
import { ConfigResourceTypes } from '../kafkajs/patches.ts';
import type { KafkaCluster, PartitionMetadata } from '../kafkajs/shapes.ts';

/** Returns the partitions of a topic; undefined when it does not exist. */
export async function partitionsOf(
  cluster: KafkaCluster,
  topic: string,
): Promise<readonly PartitionMetadata[] | undefined> {
  const broker = await controllerOf(cluster);
  try {
    const { topicMetadata } = await broker.metadata([topic]);
    return topicMetadata[0]?.partitionMetadata ?? [];
  } catch (error) {
    if (protocolErrorOf(error) === 'UNKNOWN_TOPIC_OR_PARTITION') return undefined;
    throw error;
  }
}

/** Returns effective settings of a topic by Kafka's names. @param names default: all */
export async function settingsOf(
  cluster: KafkaCluster,
  topic: string,
  names?: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const { resources } = await (await controllerOf(cluster)).describeConfigs({
    resources: [{ type: ConfigResourceTypes.TOPIC, name: topic, configNames: names }],
  });
  const entries = resources[0]?.configEntries ?? [];
  return new Map(entries.map(({ configName, configValue }) => [configName, configValue ?? '']));
}

const CREATE_TIMEOUT_MS = 15_000;

/** @param validateOnly only checks whether the topic could be created */
export async function createTopic(
  cluster: KafkaCluster,
  topic: string,
  { partitions: numPartitions, replicationFactor, settings }: TopicSpec,
  validateOnly: boolean,
): Promise<void> {
  const configEntries = [...settings].map(([name, value]) => ({ name, value }));
  await (await controllerOf(cluster)).createTopics({
    validateOnly,
    timeout: CREATE_TIMEOUT_MS,
    topics: [{ topic, numPartitions, replicationFactor, configEntries }],
  });
}
