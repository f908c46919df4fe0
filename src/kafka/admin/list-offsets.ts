/** ListOffsets with the isolation level of one's choice: kafkajs's admin client always asks as a read_committed consumer. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from 'kafkajs';
import type { ClusterConnection } from '../client/cluster-connection.ts';
import { toOffset } from '../records/decode-batch.ts';

export const READ_UNCOMMITTED = 0;
export const READ_COMMITTED = 1;
/** Timestamps with a meaning of their own in the protocol. */
export const LATEST = -1;
export const EARLIEST = -2;

const MAX_FAILURES = 5;
const RETRY_MS = 100;

/** What kafkajs's types leave out. */
interface OffsetsBroker {
  listOffsets(request: {
    readonly isolationLevel: number;
    readonly topics: readonly {
      readonly topic: string;
      readonly partitions: readonly { readonly partition: number; readonly timestamp: number }[];
    }[];
  }): Promise<{
    readonly responses: readonly {
      readonly partitions: readonly { partition: number; offset: string }[];
    }[];
  }>;
}

export interface OffsetsQuestion {
  readonly topic: string;
  readonly partitions: readonly number[];
  readonly timestamp: number;
  readonly isolationLevel: number;
}

/** Asks the leaders, one request each. A partition without an answer (no record is that young) is left out. @throws what kafkajs throws */
export async function listOffsets(
  cluster: Cluster,
  { topic, partitions, timestamp, isolationLevel }: OffsetsQuestion,
): Promise<Map<number, number>> {
  await cluster.addMultipleTargetTopics([topic]);
  await cluster.refreshMetadataIfNecessary();
  const offsets = new Map<number, number>();
  for (const [nodeId, led] of Object.entries(
    cluster.findLeaderForPartitions(topic, [...partitions]),
  )) {
    const broker = (await cluster.findBroker({ nodeId })) as unknown as OffsetsBroker;
    const topics = [{ topic, partitions: led.map((partition) => ({ partition, timestamp })) }];
    const { responses } = await broker.listOffsets({ isolationLevel, topics });
    for (const { partition, offset } of responses.flatMap((one) => one.partitions))
      if (Number(offset) >= 0) offsets.set(partition, toOffset(offset));
  }
  return offsets;
}

/** As `listOffsets`, over several seconds while leaders move. @throws what kafkajs throws */
export async function listOffsetsPatiently(
  connection: ClusterConnection,
  question: OffsetsQuestion,
): Promise<Map<number, number>> {
  for (let failures = 0; ; failures++) {
    try {
      return await listOffsets(await connection.cluster(), question);
    } catch (error) {
      if (failures >= MAX_FAILURES || (error as { retriable?: boolean }).retriable !== true)
        throw error;
      // The metadata of a moment later name the new leader.
      await sleep(RETRY_MS * 2 ** failures);
      await connection.refresh();
    }
  }
}

/** Those of the partitions that have a leader, or are unknown. */
export async function withLeader(
  cluster: Cluster,
  topic: string,
  partitions: readonly number[],
): Promise<number[]> {
  await cluster.addMultipleTargetTopics([topic]);
  await cluster.refreshMetadataIfNecessary();
  const known = cluster.findTopicPartitionMetadata(topic);
  const leaderless = new Set(
    known.filter(({ leader }) => leader < 0).map(({ partitionId }) => partitionId),
  );
  return partitions.filter((partition) => !leaderless.has(partition));
}
