/** Checks of topics: whether they exist, with the settings that the pipeline needs. */

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
  const problem = role === 'source' ? undefined : outputProblem(found, topic);
  return together(`${counted(partitions, 'partition')}, ${counted(replicationFactor, 'replica')}`, [
    problem !== undefined && failed(problem),
    ...(role === 'source' ? sourceProblems(pipeline, found) : []),
  ]);
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
