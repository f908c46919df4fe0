/** Names of a pipeline's topics, and the settings with which they are created. */
import type { ClusterAdmin, TopicDescription, TopicSpec } from '../../core/ports/kafka.ts';
import { RefusedError } from './errors.ts';
import type { PipelineOptions } from './options.ts';

export type TopicRole = 'source' | 'output' | 'dead-letter' | 'journal';

/** Remedy for missing topics. */
export const CREATE_TOPICS =
  'run "content-review-connector topics create", or correct the name in the configuration';

const DEFAULT_MAX_SHARDS = 64;
/** Retention beyond the maximum review time. It is the longest outage in which no record is lost. */
const OUTAGE_MS = 7 * 24 * 3_600_000;
/** Maximum size that a terminal record adds to its source record: headers, or members of a decision. */
const ENVELOPE_BYTES = 64 * 1024;
/** Kafka's default for max.message.bytes. */
export const MAX_MESSAGE_BYTES = 1_048_588;

/** Settings of a journal, except min.insync.replicas. */
const JOURNAL = [
  ['cleanup.policy', 'compact'],
  ['segment.bytes', String(16 * 1024 * 1024)],
  ['segment.ms', String(10 * 60_000)],
  ['min.cleanable.dirty.ratio', '0.1'],
  ['delete.retention.ms', String(24 * 3_600_000)],
] as const;

type Topics = Pick<PipelineOptions, 'source' | 'output' | 'deadLetters' | 'journal'>;

/** Returns the topic names by role. */
export const topicsOf = ({ source, output, deadLetters, journal }: Topics) =>
  new Map<TopicRole, string>([
    ['source', source.topic],
    ['output', output.topic],
    ['dead-letter', deadLetters.topic],
    ['journal', journal.topic],
  ]);

interface ClusterFacts {
  readonly brokers: number;
  readonly sourcePartitions: number;
  /** Replicas of each partition. Default: 3, or the number of brokers if there are fewer. */
  readonly replicationFactor?: number | undefined;
}

const insyncReplicas = (replicas: number) =>
  ['min.insync.replicas', replicas === 1 ? '1' : '2'] as const;

/**
 * Returns the specification for creating a journal.
 * @throws RefusedError if the cluster cannot host the journal as configured
 */
export function journalSpec(
  { journal }: Pick<PipelineOptions, 'journal'>,
  { brokers, sourcePartitions, replicationFactor = Math.min(3, brokers) }: ClusterFacts,
): TopicSpec {
  if (brokers > 1 && replicationFactor < 2)
    throw new RefusedError(
      `in a cluster of ${brokers} brokers the journal needs at least 2 replicas: use --replication-factor 2`,
    );
  return {
    partitions: journal.partitions ?? Math.min(sourcePartitions, DEFAULT_MAX_SHARDS),
    replicationFactor,
    settings: new Map([...JOURNAL, insyncReplicas(brokers)]),
  };
}

/**
 * Returns the specification for creating a topic. A source keeps its records for as long as retries
 * may read them. The other topics accept terminal records of the largest source record.
 * @param cluster `sourceMaxBytes` is the source's max.message.bytes
 * @throws RefusedError if the cluster cannot host the journal as configured
 */
export function topicSpec(
  role: TopicRole,
  { review, ...options }: Pick<PipelineOptions, 'review' | 'journal'>,
  cluster: ClusterFacts & { readonly sourceMaxBytes: number },
): TopicSpec {
  if (role === 'journal') return journalSpec(options, cluster);
  const { brokers, sourcePartitions, sourceMaxBytes } = cluster;
  const { replicationFactor = Math.min(3, brokers) } = cluster;
  const retentionMs = review.maxReviewTimeMs * review.attempts + OUTAGE_MS;
  const own: readonly (readonly [string, string])[] =
    role === 'source'
      ? [['retention.ms', String(retentionMs)]]
      : sourceMaxBytes > MAX_MESSAGE_BYTES
        ? [['max.message.bytes', String(sourceMaxBytes + ENVELOPE_BYTES)]]
        : [];
  return {
    partitions: sourcePartitions,
    replicationFactor,
    settings: new Map([['cleanup.policy', 'delete'], ...own, insyncReplicas(replicationFactor)]),
  };
}

/**
 * Describes the source, output and dead-letter topics of pipelines.
 * @throws RefusedError that lists all missing topics
 */
export async function describeTopics(
  admin: Pick<ClusterAdmin, 'describeTopic'>,
  pipelines: readonly Topics[],
): Promise<ReadonlyMap<string, TopicDescription>> {
  const found = new Map<string, TopicDescription>();
  const missing = new Map<string, string>();
  for (const pipeline of pipelines)
    for (const [role, topic] of topicsOf(pipeline)) {
      if (role === 'journal' || found.has(topic) || missing.has(topic)) continue;
      const description = await admin.describeTopic(topic);
      if (description === undefined)
        missing.set(topic, `the ${role} topic ${JSON.stringify(topic)}`);
      else found.set(topic, description);
    }
  if (missing.size === 0) return found;
  const verb = missing.size === 1 ? 'does' : 'do';
  const names = [...missing.values()].join(', ');
  throw new RefusedError(`${names} ${verb} not exist: ${CREATE_TOPICS}`);
}
