/** Creates the topics of pipelines, and compares those that exist with what the pipelines need. */
import type { TopicSpec } from '../../core/ports/kafka.ts';
import { RefusedError } from '../../pipeline/context/errors.ts';
import { type TopicRole, topicSpec, topicsOf } from '../../pipeline/context/topics.ts';
import { ownCommits, refuseForgotten } from '../../pipeline/shard/forgotten-journal.ts';
import type { KafkaParts, PipelineParts } from './check.ts';
import { type Diagnosis, failed, ok } from './check.ts';
import { topicDiagnosis } from './topic-checks.ts';

export interface CreateTopicsOptions {
  /** Partitions of a source that is created. */
  readonly partitions: number;
  /** Default: three, or the number of brokers when there are fewer. */
  readonly replicationFactor: number | undefined;
  /** False: a missing source is reported, not created. */
  readonly source: boolean;
  /** False: the brokers only validate the creation. */
  readonly yes: boolean;
}

export interface TopicReport {
  readonly pipeline: string;
  readonly role: TopicRole;
  readonly topic: string;
  readonly partitions: number | null;
  readonly replicas: number | null;
  readonly state: 'created' | 'missing' | 'exists';
  /** Settings of a new topic; null for one that exists. */
  readonly settings: Readonly<Record<string, string>> | null;
  readonly diagnosis: Diagnosis;
}

/** Existing topics are never altered. */
export async function createTopics(
  pipelines: readonly PipelineParts[],
  kafka: KafkaParts,
  options: CreateTopicsOptions,
): Promise<TopicReport[]> {
  const reports = new Map<string, TopicReport>();
  for (const pipeline of pipelines)
    for (const [role, topic] of topicsOf(pipeline.engine)) {
      // An output may be shared by pipelines.
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
    const diagnosis = await topicDiagnosis(pipeline, role, topic);
    return { partitions, replicas, state: 'exists', settings: null, diagnosis };
  }
  const missing = { partitions: null, replicas: null, settings: null, state: 'missing' as const };
  if (role === 'source' && !options.source)
    return {
      ...missing,
      diagnosis: failed('it does not exist', 'create it, or correct its name in the configuration'),
    };
  try {
    const spec = await missingSpec(pipeline, options, role);
    if (options.yes) await admin.createTopic(topic, spec);
    else await kafka.inspector.tryCreate(topic, spec);
    return {
      partitions: spec.partitions,
      replicas: spec.replicationFactor,
      settings: Object.fromEntries(spec.settings),
      state: options.yes ? 'created' : 'missing',
      diagnosis: ok('as the pipeline needs it'),
    };
  } catch (error) {
    if (error instanceof RefusedError) return { ...missing, diagnosis: failed(error.message) };
    throw error;
  }
}

/** @throws RefusedError if the topic must not be created */
async function missingSpec(
  { engine, inspection: { admin } }: PipelineParts,
  { partitions, replicationFactor, source: makesSource }: CreateTopicsOptions,
  role: TopicRole,
): Promise<TopicSpec> {
  const source = await admin.describeTopic(engine.source.topic);
  const follows = role !== 'journal' || engine.journal.partitions === undefined;
  if (follows && source === undefined && !makesSource)
    throw new RefusedError(
      'it has as many partitions as the source topic, which does not exist: create that one first',
    );
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
    replicationFactor: replicationFactor ?? Math.min(3, brokers),
    sourceMaxBytes: Number(source?.settings.get('max.message.bytes') ?? 0),
  });
}
