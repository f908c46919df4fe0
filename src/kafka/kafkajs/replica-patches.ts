/**
 * Patch 23 of docs/internals/kafkajs.md: fetches from the replica that the leader names because it
 * is in the client's rack (KIP-392). A partition is read from its leader if that replica fails.
 */
import { settledWithin } from '../../../packages/client/src/base/abortable.ts';
import { internal } from './internals.ts';
import type { PartitionFetch } from './partition-fetch.ts';
import type { KafkaCluster } from './shapes.ts';

interface FetchingGroup {
  /** Empty without a rack. */
  readonly rackId: string;
  readonly maxWaitTime: number;
  readonly cluster: KafkaCluster;
  readonly logger: { warn(message: string, fields: object): void };
  fetch(nodeId: string): Promise<PartitionFetch[]>;
  recoverFromFetch(error: Error): Promise<void>;
}

/** Time in ms for which a named replica is read, before the leader must name one again. */
const NAMED_MS = 5_000;
/** Time in ms within which a replica must have the records that its leader had. Brokers tolerate 30 s. */
const LAG_MS = 2_000;
/** Time in ms for which partitions of a failed replica are read from their leaders. */
export const AVOIDED_MS = 60_000;
/** Time in ms for the response of a replica, after the wait for records. A frozen broker keeps its connections. */
export const REPLICA_RESPONSE_MS = 5_000;

/** Returns the time in ms for the response of a replica after the wait for records, plus the rest of its throttling. */
export function maxResponseMs(cluster: KafkaCluster, nodeId: string | number): number {
  const untilMs = connectionsTo(cluster, nodeId).map(
    ({ requestQueue }) => requestQueue.throttledUntil,
  );
  return REPLICA_RESPONSE_MS + Math.max(0, ...untilMs.map((ms) => ms - performance.now()));
}

const connectionsTo = ({ brokerPool }: KafkaCluster, nodeId: string | number) =>
  brokerPool.brokers[nodeId]?.connectionPool.pool ?? [];

/** Node to read a partition from, until a time on the monotonic clock (ms). */
interface Choice {
  /** undefined for the leader, which receives no rack and therefore names no replica. */
  readonly nodeId: number | undefined;
  readonly untilMs: number;
  /** End of the leader's log when it named the replica. */
  readonly end: number;
}

/**
 * Closes the connections to a broker that does not respond. Otherwise a request for metadata could
 * wait for the broker, and all fetches could wait for the metadata.
 */
export function closeConnections(
  cluster: KafkaCluster,
  nodeId: string | number,
  why: string,
): void {
  for (const { socket } of connectionsTo(cluster, nodeId)) socket?.destroy(new Error(why));
}

export function fetchFromReplicas(): void {
  const { prototype } = internal<{ prototype: FetchingGroup }>('consumer/consumerGroup.js');
  const { fetch } = prototype;
  const choicesOf = new WeakMap<FetchingGroup, Map<string, Choice>>();

  prototype.fetch = async function (nodeId) {
    if (this.rackId === '') return await fetch.call(this, nodeId);
    const choices = choicesOf.get(this) ?? new Map<string, Choice>();
    choicesOf.set(this, choices);
    const choose = (key: string, nodeId: number | undefined, ms: number, end = 0) =>
      choices.set(key, { nodeId, untilMs: performance.now() + ms, end });
    const avoid = (replica: number, error: string) => {
      this.logger.warn('reading from leaders, not the nearest replica', { broker: replica, error });
      for (const [key, { nodeId }] of choices)
        if (nodeId === replica) choose(key, undefined, AVOIDED_MS);
    };
    const node = Number(nodeId);
    /** Partitions of this request that the node does not lead. */
    const followed = new Set<string>();
    let isOver = false;

    const request: FetchingGroup = Object.assign(Object.create(this), {
      rackId: this.rackId,
      findReadReplicaForPartitions: (topic: string, assigned: readonly number[]) => {
        const isOnline = (id: number) => this.cluster.getNodeIds().includes(String(id));
        const own = this.cluster.findTopicPartitionMetadata(topic).filter((metadata) => {
          const { partitionId, leader, offlineReplicas } = metadata;
          if (!assigned.includes(partitionId)) return false;
          const key = `${topic}/${partitionId}`;
          const { nodeId: near, untilMs = 0 } = choices.get(key) ?? {};
          if (near !== undefined && (!isOnline(near) || offlineReplicas?.includes(near)))
            avoid(near, 'it is offline');
          const choice = performance.now() < untilMs ? choices.get(key) : undefined;
          if ((choice?.nodeId ?? leader) !== node) return false;
          if (node !== leader) followed.add(key);
          if (choice !== undefined && choice.nodeId === undefined)
            Object.assign(request, { rackId: '' });
          return true;
        });
        return { [node]: own.map(({ partitionId }) => partitionId) };
      },
      recoverFromFetch: async (error: Error) => {
        if (followed.size === 0) await this.recoverFromFetch(error);
        else if (!isOver) avoid(node, error.message);
      },
    });

    const fetching = fetch.call(request, nodeId);
    const responseMs = maxResponseMs(this.cluster, nodeId);
    const inTime = await settledWithin(fetching, this.maxWaitTime + responseMs);
    if (!inTime && followed.size > 0) {
      isOver = true;
      const why = `no response for ${Math.round(responseMs)} ms`;
      avoid(node, why);
      closeConnections(this.cluster, nodeId, why);
      return [];
    }
    return (await fetching).filter((fetched) => {
      const { topic, partition, failure, nextOffset, endOffset, preferredReplica } = fetched;
      const key = `${topic}/${partition}`;
      const { nodeId: near, untilMs = 0, end = 0 } = choices.get(key) ?? {};
      const isAvoiding = near === undefined && performance.now() < untilMs;
      // Otherwise a leader that names itself would be queried endlessly.
      if (preferredReplica === node) choose(key, undefined, AVOIDED_MS);
      else if (preferredReplica >= 0 && !isAvoiding)
        choose(key, preferredReplica, NAMED_MS, endOffset);
      if (!followed.has(key)) return true;
      if (failure !== undefined) avoid(node, failure.message);
      else if (
        // Checks the replica's own end too, because a full response omits the records of later partitions.
        endOffset <= nextOffset &&
        nextOffset < end &&
        untilMs - performance.now() < NAMED_MS - LAG_MS
      )
        avoid(node, `it lacks records of its leader from offset ${nextOffset}`);
      return failure === undefined;
    });
  };
}
