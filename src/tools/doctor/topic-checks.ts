/** Checks of topics: whether they exist, with the replicas and settings that the pipeline needs. */

import type { TopicDescription } from '../../core/ports/kafka.ts';
import { CREATE_TOPICS, type TopicRole, topicsOf } from '../../pipeline/context/topics.ts';
import { outputProblem } from '../../pipeline/shard/prepare-topics.ts';
import type { PipelineParts } from './check.ts';
import { counted, type Diagnosis, type DoctorCheck, failed, together, warning } from './check.ts';

type Problems = readonly (Diagnosis | false | undefined)[];

type CheckedRole = Exclude<TopicRole, 'journal'>;

/** Names of the checks by role. The journal has a separate check, which also reads it. */
const NAMES: Readonly<Record<CheckedRole, string>> = {
  source: 'topic.source',
  output: 'topic.output',
  'dead-letter': 'topic.deadLetters',
};

export function topicChecks(pipeline: PipelineParts): DoctorCheck[] {
  return [...topicsOf(pipeline.engine)].flatMap(([role, topic]) => {
    if (role === 'journal') return [];
    const run = () => topicDiagnosis(pipeline, role, topic);
    const about = `${role} topic ${topic}`;
    return [{ name: NAMES[role], about, needsKafka: true, run }];
  });
}

/** Compares a topic with the needs of its pipeline. */
async function topicDiagnosis(
  pipeline: PipelineParts,
  role: CheckedRole,
  topic: string,
): Promise<Diagnosis> {
  const { admin } = pipeline.inspection;
  const found = await admin.describeTopic(topic);
  if (found === undefined) return failed('it does not exist', CREATE_TOPICS);
  const { partitions, replicationFactor } = found;
  const brokers = await admin.brokerCount();
  return together(`${counted(partitions, 'partition')}, ${counted(replicationFactor, 'replica')}`, [
    ...replicaProblems(found, brokers, role !== 'source'),
    ...(role === 'source'
      ? sourceProblems(pipeline, found)
      : await outputProblems(pipeline, found, role)),
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
        `max.message.bytes is ${accepted}, but ${largest} for the source: the dead letter of a larger record has no value, and cannot be replayed`,
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

/** @param written true if the connector writes to the topic */
export function replicaProblems(
  { replicationFactor, settings }: TopicDescription,
  brokers: number,
  written: boolean,
): Problems {
  if (brokers === 1) return [];
  const isLossy = written && Number(settings.get('min.insync.replicas') ?? 1) < 2;
  return [
    replicationFactor === 1
      ? warning('it has one replica: it is unavailable without that broker', 'use three replicas')
      : isLossy &&
        warning(
          'min.insync.replicas is 1: acknowledged records may be lost with one broker',
          'set min.insync.replicas=2',
        ),
  ];
}
