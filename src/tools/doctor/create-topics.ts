/** Creates missing topics of pipelines. The doctor compares existing ones with the needs of the pipelines. */
import type { TopicSpec } from '../../core/ports/kafka.ts';
import { RefusedError } from '../../pipeline/context/errors.ts';
import { type TopicRole, topicSpec, topicsOf } from '../../pipeline/context/topics.ts';
import { ownCommits, refuseForgotten } from '../../pipeline/shard/forgotten-journal.ts';
import type { KafkaParts, PipelineParts } from './check.ts';

export interface CreateTopicsOptions {
  /** Number of partitions of a new source topic. */
  readonly partitions: number;
  /** Default: 3, or the number of brokers if there are fewer. */
  readonly replicationFactor: number | undefined;
  /** False for a dry run, in which the brokers only validate the requests. */
  readonly yes: boolean;
}

export interface TopicReport {
  readonly pipeline: string;
  readonly role: TopicRole;
  readonly topic: string;
  readonly partitions: number | null;
  readonly replicas: number | null;
  readonly state: 'created' | 'missing' | 'exists';
  /** Settings of a new topic. null for an existing topic. */
  readonly settings: Readonly<Record<string, string>> | null;
  /** Reason why the topic cannot be created, with the remedy. */
  readonly problem: string | null;
}

/** Creates the topics that are missing. Existing topics are never altered. */
export async function createTopics(
  pipelines: readonly PipelineParts[],
  kafka: KafkaParts,
  options: CreateTopicsOptions,
): Promise<TopicReport[]> {
  const reports = new Map<string, TopicReport>();
  for (const pipeline of pipelines)
    for (const [role, topic] of topicsOf(pipeline.engine)) {
      // Several pipelines may share an output topic.
      if (reports.has(topic)) continue;
      const report = { pipeline: pipeline.name, role, topic };
      reports.set(topic, { ...report, ...(await handled(pipeline, kafka, options, role, topic)) });
    }
  return [...reports.values()];
}

async function handled(
  pipeline: PipelineParts,
  kafka: KafkaParts,
  options: CreateTopicsOptions,
  role: TopicRole,
  topic: string,
): Promise<Omit<TopicReport, 'pipeline' | 'role' | 'topic'>> {
  const { admin } = pipeline.inspection;
  const found = await admin.describeTopic(topic);
  if (found !== undefined) {
    const { partitions, replicationFactor: replicas } = found;
    return { partitions, replicas, state: 'exists', settings: null, problem: null };
  }
  try {
    const spec = await missingSpec(pipeline, options, role);
    if (options.yes) await admin.createTopic(topic, spec);
    else await kafka.inspector.tryCreate(topic, spec);
    return {
      partitions: spec.partitions,
      replicas: spec.replicationFactor,
      settings: Object.fromEntries(spec.settings),
      state: options.yes ? 'created' : 'missing',
      problem: null,
    };
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    const unknown = { partitions: null, replicas: null, settings: null };
    return { ...unknown, state: 'missing', problem: error.message };
  }
}

/** @throws RefusedError if the topic must not be created */
async function missingSpec(
  { engine, inspection: { admin } }: PipelineParts,
  { partitions, replicationFactor }: CreateTopicsOptions,
  role: TopicRole,
): Promise<TopicSpec> {
  const source = await admin.describeTopic(engine.source.topic);
  if (role === 'journal' && source !== undefined)
    await refuseForgotten(
      admin,
      engine,
      await ownCommits(admin, engine, source.partitions),
      undefined,
    );
  const brokers = await admin.brokerCount();
  return topicSpec(role, engine, {
    brokers,
    sourcePartitions: source?.partitions ?? partitions,
    replicationFactor,
    sourceMaxBytes: Number(source?.settings.get('max.message.bytes') ?? 0),
  });
}
