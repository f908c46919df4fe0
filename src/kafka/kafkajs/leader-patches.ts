/** Patch 19 of docs/internals/kafkajs.md: partitions without a leader, which response-patches.ts does not drop. */
import { internal } from './internals.ts';
import type { ClusterMetadata, KafkaCluster, ProtocolErrors } from './shapes.ts';

interface OffsetsOfTopic {
  readonly topic: string;
  readonly partitions: readonly { readonly partition: number }[];
}
interface LeaderCluster extends Pick<KafkaCluster, 'findTopicPartitionMetadata'> {
  findLeaderForPartitions(topic: string, partitions: readonly (number | string)[]): object;
  fetchTopicsOffset(topics: readonly OffsetsOfTopic[]): Promise<OffsetsOfTopic[]>;
}
interface LeaderPool {
  readonly metadata: ClusterMetadata | null;
  metadataExpireAt: number | null;
  refreshMetadata(topics: readonly string[]): Promise<unknown>;
}

const LEADER_NOT_AVAILABLE = 5;
/** Maximum age of metadata in which a partition has no leader. */
const LEADERLESS_MAX_AGE_MS = 1_000;

const isLeaderless = ({ leader }: { readonly leader: number }) => leader < 0;

export function nameLeaderless(): void {
  const { createErrorFromCode } = internal<ProtocolErrors>('protocol/error.js');
  const cluster = internal<{ prototype: LeaderCluster }>('cluster/index.js').prototype;
  const { findLeaderForPartitions, fetchTopicsOffset } = cluster;
  cluster.findLeaderForPartitions = function (topic, partitions) {
    const leaderless = leaderlessOf(this, topic);
    const partition = partitions.find((one) => leaderless.has(Number(one)));
    if (partition === undefined) return findLeaderForPartitions.call(this, topic, partitions);
    throw Object.assign(createErrorFromCode(LEADER_NOT_AVAILABLE), {
      message: `partition ${partition} of topic ${topic} has no leader`,
    });
  };
  // Used for the positions of newly assigned partitions. A partition without a leader gets its
  // position once it has one.
  cluster.fetchTopicsOffset = async function (topics) {
    const led = topics.map(({ partitions, ...of }) => {
      const leaderless = leaderlessOf(this, of.topic);
      return { ...of, partitions: partitions.filter((one) => !leaderless.has(one.partition)) };
    });
    const found = await fetchTopicsOffset.call(this, led);
    const missing = topics.filter(({ topic }) => found.every((one) => one.topic !== topic));
    return [...found, ...missing.map(({ topic }) => ({ topic, partitions: [] }))];
  };

  const pool = internal<{ prototype: LeaderPool }>('cluster/brokerPool.js').prototype;
  const { refreshMetadata } = pool;
  pool.refreshMetadata = async function (topics) {
    await refreshMetadata.call(this, topics);
    const known = this.metadata?.topicMetadata ?? [];
    if (known.some(({ partitionMetadata }) => partitionMetadata.some(isLeaderless)))
      this.metadataExpireAt = Math.min(
        Number(this.metadataExpireAt),
        performance.now() + LEADERLESS_MAX_AGE_MS,
      );
  };
}

function leaderlessOf(cluster: LeaderCluster, topic: string): ReadonlySet<number> {
  const leaderless = cluster.findTopicPartitionMetadata(topic).filter(isLeaderless);
  return new Set(leaderless.map(({ partitionId }) => partitionId));
}
