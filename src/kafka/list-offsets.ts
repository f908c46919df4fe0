/** ListOffsets with the isolation level of one's choice: kafkajs's admin client always asks as a read_committed consumer. */
import type { Cluster } from 'kafkajs';
import { toOffset } from './offsets.ts';

export const READ_UNCOMMITTED = 0;
export const READ_COMMITTED = 1;
/** Timestamps with a meaning of their own in the protocol. */
export const LATEST = -1;
export const EARLIEST = -2;

/** What kafkajs's types leave out. */
interface OffsetsBroker {
  listOffsets(request: {
    readonly isolationLevel: number;
    readonly topics: readonly {
      readonly topic: string;
      readonly partitions: readonly { readonly partition: number; readonly timestamp: number }[];
    }[];
  }): Promise<{ readonly responses: readonly { readonly partitions: readonly { partition: number; offset: string }[] }[] }>;
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
  for (const [nodeId, led] of Object.entries(cluster.findLeaderForPartitions(topic, [...partitions]))) {
    const broker = (await cluster.findBroker({ nodeId })) as unknown as OffsetsBroker;
    const topics = [{ topic, partitions: led.map((partition) => ({ partition, timestamp })) }];
    const { responses } = await broker.listOffsets({ isolationLevel, topics });
    for (const { partition, offset } of responses.flatMap((one) => one.partitions))
      if (Number(offset) >= 0) offsets.set(partition, toOffset(offset));
  }
  return offsets;
}
