/** Mend 19 of kafkajs-fixes.ts: a partition without a leader. */
import { internal, type Metadata, replace } from './internals.ts';

interface PartitionMetadata {
  readonly partitionErrorCode: number;
  readonly partitionId: number;
  readonly leader: number;
}
interface MetadataAnswer {
  readonly topicMetadata: readonly {
    readonly topicErrorCode: number;
    readonly partitionMetadata: readonly PartitionMetadata[];
  }[];
}
interface Cluster {
  findTopicPartitionMetadata(topic: string): readonly PartitionMetadata[];
  findLeaderForPartitions(topic: string, partitions: readonly (number | string)[]): object;
  fetchTopicsOffset(
    topics: readonly OffsetsWanted[],
  ): Promise<{ readonly topic: string; readonly partitions: readonly object[] }[]>;
}
interface OffsetsWanted {
  readonly topic: string;
  readonly partitions: readonly { readonly partition: number }[];
}
interface BrokerPool {
  metadata: Metadata | null;
  metadataExpireAt: number | null;
  refreshMetadata(topics: readonly string[]): Promise<unknown>;
}

const NO_LEADER = -1;
const LEADER_NOT_AVAILABLE = { type: 'LEADER_NOT_AVAILABLE', code: 5, retriable: true };
/** How soon the metadata are asked for again while they name a partition without a leader. */
const LOOK_AGAIN_MS = 1_000;

/**
 * Mend 19: an answer about topics was refused as a whole when one of their partitions had no leader (src/protocol/requests/
 * metadata/v0/response.js), so a consumer crashed and could not join again until that partition had one. Now such a partition is
 * kept without a leader: fetches leave it out, only what needs its leader fails, with its name, and the metadata are refreshed
 * every second until it has one. Before mend 16, which wraps the same parser.
 */
export function keepLeaderless(): void {
  const file = 'protocol/requests/metadata/v0/response.js';
  const { createErrorFromCode } = internal<{ createErrorFromCode: (code: number) => Error }>(
    'protocol/error.js',
  );
  const response = internal<{ readonly decode: unknown }>(file);
  const parse = async (data: MetadataAnswer): Promise<MetadataAnswer> => {
    const topicMetadata = data.topicMetadata.map((topic) => {
      if (topic.topicErrorCode !== 0) throw createErrorFromCode(topic.topicErrorCode);
      const partitionMetadata = topic.partitionMetadata.map((one) =>
        one.partitionErrorCode === 0 ? one : { ...one, leader: NO_LEADER },
      );
      return { ...topic, partitionMetadata };
    });
    return { ...data, topicMetadata };
  };
  replace(file, { ...response, parse });
}

/** The second half of mend 19: after the last replacement of a module that the cluster uses. */
export function nameLeaderless(): void {
  const { KafkaJSProtocolError } = internal<{ KafkaJSProtocolError: new (from: object) => Error }>(
    'errors.js',
  );
  const { prototype } = internal<{ prototype: Cluster }>('cluster/index.js');
  const { findLeaderForPartitions, fetchTopicsOffset } = prototype;
  prototype.findLeaderForPartitions = function (this: Cluster, topic, partitions): object {
    const leaderless = leaderlessOf(this, topic);
    const partition = partitions.find((one) => leaderless.has(Number(one)));
    if (partition === undefined) return findLeaderForPartitions.call(this, topic, partitions);
    throw new KafkaJSProtocolError({
      ...LEADER_NOT_AVAILABLE,
      message: `partition ${partition} of topic ${topic} has no leader`,
    });
  };
  // A consumer asks so for the positions of partitions that it was just assigned; it reads those that get none later.
  prototype.fetchTopicsOffset = async function (
    this: Cluster,
    topics,
  ): ReturnType<Cluster['fetchTopicsOffset']> {
    const wanted = topics.map((of) => {
      const leaderless = leaderlessOf(this, of.topic);
      return {
        ...of,
        partitions: of.partitions.filter(({ partition }) => !leaderless.has(partition)),
      };
    });
    const found = await fetchTopicsOffset.call(this, wanted);
    const missing = topics.filter(({ topic }) => found.every((one) => one.topic !== topic));
    return [...found, ...missing.map(({ topic }) => ({ topic, partitions: [] }))];
  };
  refreshUntilLed();
}

function refreshUntilLed(): void {
  const { prototype } = internal<{ prototype: BrokerPool }>('cluster/brokerPool.js');
  const { refreshMetadata } = prototype;
  prototype.refreshMetadata = async function (this: BrokerPool, topics): Promise<unknown> {
    const refreshed = await refreshMetadata.call(this, topics);
    const known = (this.metadata as MetadataAnswer | null)?.topicMetadata ?? [];
    if (
      known.some(({ partitionMetadata }) =>
        partitionMetadata.some(({ leader }) => leader === NO_LEADER),
      )
    )
      this.metadataExpireAt = Math.min(
        this.metadataExpireAt ?? Number.POSITIVE_INFINITY,
        Date.now() + LOOK_AGAIN_MS,
      );
    return refreshed;
  };
}

function leaderlessOf(cluster: Cluster, topic: string): ReadonlySet<number> {
  const known = cluster.findTopicPartitionMetadata(topic);
  return new Set(
    known.filter(({ leader }) => leader === NO_LEADER).map(({ partitionId }) => partitionId),
  );
}
