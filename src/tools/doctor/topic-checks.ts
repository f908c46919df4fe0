/** Checks of the topics: they exist, are replicated, and have the settings that the pipeline needs. */

import type { ClusterAdmin, TopicDescription } from '../../core/ports/kafka.ts';
import type { PartitionReplicas } from '../../kafka/admin/cluster-inspector.ts';
import { CREATE_TOPICS, type TopicRole, topicsOf } from '../../pipeline/context/topics.ts';
import { journalProblem, outputProblem } from '../../pipeline/shard/prepare-topics.ts';
import type { KafkaParts, PipelineParts } from './check.ts';
import { counted, type Diagnosis, type DoctorCheck, failed, together, warning } from './check.ts';

type Problems = readonly (Diagnosis | false | undefined)[];

interface TopicState {
  readonly description: TopicDescription;
  readonly partitions: readonly PartitionReplicas[];
}

/** @returns undefined when the topic does not exist */
export async function topicState(
  inspector: KafkaParts['inspector'],
  admin: ClusterAdmin,
  topic: string,
): Promise<TopicState | undefined> {
  // Reading settings takes another right: a missing topic is reported before a missing right.
  const replicas = await inspector.topic(topic);
  const description = replicas && (await admin.describeTopic(topic));
  return description && { ...replicas, description };
}

/** Names of the checks; `journal` has its own, which reads it. */
const NAMES = {
  source: 'topic.source',
  output: 'topic.output',
  'dead-letter': 'topic.deadLetters',
  journal: undefined,
} as const satisfies Record<TopicRole, string | undefined>;

export function topicChecks(pipeline: PipelineParts, kafka: KafkaParts): DoctorCheck[] {
  return [...topicsOf(pipeline.engine)].flatMap(([role, topic]) => {
    const name = NAMES[role];
    const run = () => topicDiagnosis(pipeline, kafka, role, topic);
    return name ? [{ name, about: `${role} topic ${topic}`, needs: ['kafka.connect'], run }] : [];
  });
}

/** Compares a topic with what its pipeline needs. */
export async function topicDiagnosis(
  pipeline: PipelineParts,
  kafka: KafkaParts,
  role: TopicRole,
  topic: string,
): Promise<Diagnosis> {
  const { admin } = pipeline.inspection;
  const found = await topicState(kafka.inspector, admin, topic);
  if (found === undefined) return failed('it does not exist', CREATE_TOPICS);
  const { partitions, replicationFactor } = found.description;
  const brokers = await admin.brokerCount();
  return together(`${counted(partitions, 'partition')}, ${counted(replicationFactor, 'replica')}`, [
    ...replicaProblems(found, brokers, role !== 'source'),
    ...(role === 'source'
      ? sourceProblems(pipeline, found.description)
      : role === 'journal'
        ? [refused(journalProblem(pipeline.engine, found.description, brokers))]
        : await outputProblems(pipeline, found.description, role)),
  ]);
}

const refused = (problem: string | undefined) => problem !== undefined && failed(problem);

async function outputProblems(
  { engine, inspection }: PipelineParts,
  found: TopicDescription,
  role: 'output' | 'dead-letter',
): Promise<Problems> {
  if (role === 'output') return [refused(outputProblem(found, engine.output.topic))];
  const source = await inspection.admin.describeTopic(engine.source.topic).catch(() => undefined);
  const [accepted, largest] = [maxMessageBytes(found), maxMessageBytes(source)];
  return [
    refused(outputProblem(found, engine.deadLetters.topic)),
    accepted < largest &&
      largest < Infinity &&
      warning(
        `max.message.bytes is ${accepted}, that of the source ${largest}: a dead letter of a larger record has no value, and cannot be replayed`,
        `raise max.message.bytes to ${largest} or more`,
      ),
  ];
}

function sourceProblems({ engine }: PipelineParts, { settings }: TopicDescription): Problems {
  const policy = settings.get('cleanup.policy') ?? '';
  const retentionMs = Number(settings.get('retention.ms') ?? -1);
  const { maxReviewTimeMs, attempts } = engine.review;
  const neededMs = maxReviewTimeMs * attempts;
  return [
    policy.includes('compact') &&
      warning(
        'it is compacted: a record that a retry reads again may be gone, and then becomes a dead letter (source_unavailable)',
        'set cleanup.policy=delete if keys are reused',
      ),
    policy.includes('delete') &&
      retentionMs >= 0 &&
      retentionMs < neededMs &&
      warning(
        `retention.ms is ${retentionMs}, but ${attempts} attempts of ${maxReviewTimeMs} ms each (review.attempts, review.maxReviewTime) may read a record again after ${neededMs} ms`,
        `raise retention.ms to ${neededMs} or more, or lower review.maxReviewTime`,
      ),
  ];
}

const maxMessageBytes = (description: TopicDescription | undefined): number =>
  Number(description?.settings.get('max.message.bytes') ?? Infinity);

/** @param written whether the connector writes to the topic */
export function replicaProblems(
  { partitions, description }: TopicState,
  brokers: number,
  written: boolean,
): Problems {
  const { replicationFactor, settings } = description;
  const needed = Number(settings.get('min.insync.replicas') ?? 1);
  const named = (which: (partition: PartitionReplicas) => boolean) =>
    partitions
      .filter(which)
      .map(({ partition }) => partition)
      .join(', ');
  const leaderless = named(({ leader }) => leader < 0);
  const blocked = written ? named(({ leader, inSync }) => leader >= 0 && inSync < needed) : '';
  const behind = named(({ inSync, replicas }) => inSync < replicas);
  return [
    leaderless !== '' && failed(`no leader for partition ${leaderless}`, 'start its brokers'),
    blocked !== '' &&
      failed(
        `fewer replicas than min.insync.replicas (${needed}) are in sync in partition ${blocked}: writes are refused`,
        'start the brokers of the other replicas, or lower min.insync.replicas',
      ),
    behind !== '' &&
      blocked === '' &&
      warning(`not all replicas are in sync in partition ${behind}`, 'check the brokers'),
    brokers > 1 &&
      replicationFactor === 1 &&
      warning('it has one replica: it is unavailable without that broker', 'use three replicas'),
    brokers > 1 &&
      replicationFactor > 1 &&
      written &&
      needed < 2 &&
      warning(
        'min.insync.replicas is 1: acknowledged records may be lost with one broker',
        'set min.insync.replicas=2',
      ),
  ];
}
