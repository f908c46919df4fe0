/** Checks the topics that a pipeline needs. Creates the journal if it is missing. */
import type { Clock } from '../../../packages/client/src/base/clock.ts';
import type { ClusterAdmin, TopicDescription } from '../../core/ports/kafka.ts';
import type { Logger } from '../../core/ports/telemetry.ts';
import { RefusedError } from '../context/errors.ts';
import type { PipelineOptions } from '../context/options.ts';
import type { TopicFacts } from '../context/pipeline-context.ts';
import { describeTopics, journalSpec, MAX_MESSAGE_BYTES } from '../context/topics.ts';
import { ownCommits, refuseForgotten } from './forgotten-journal.ts';

const MIN_DELETE_RETENTION_MS = 3_600_000;
/** Maximum time until a new topic is visible on all brokers. */
const VISIBLE_MS = 30_000;
const LOOK_AGAIN_MS = 100;

const quote = (text: string): string => JSON.stringify(text);

/**
 * Checks the topics. Creates the journal if it is missing.
 * @throws RefusedError with the topic, the setting and the remedy
 */
export async function prepareTopics(
  admin: ClusterAdmin,
  options: PipelineOptions,
  logger: Logger,
  clock: Clock,
): Promise<TopicFacts> {
  const topic = options.journal.topic;
  const found = await describeTopics(admin, [options]);
  const written = (name: string) => {
    const description = found.get(name) as TopicDescription;
    refuse(outputProblem(description, name));
    return Number(description.settings.get('max.message.bytes') ?? NaN);
  };
  const checkJournal = async (description: TopicDescription) =>
    refuse(journalProblem(options, description, await admin.brokerCount()));

  const { partitions: sourcePartitions } = found.get(options.source.topic) as TopicDescription;
  const maxOutputBytes = written(options.output.topic);
  const maxDeadLetterBytes = written(options.deadLetters.topic);
  const owned = await ownCommits(admin, options, sourcePartitions);
  let journal = await admin.describeTopic(topic);
  if (journal !== undefined) await checkJournal(journal);
  await refuseForgotten(admin, options, owned, journal?.partitions);
  if (journal === undefined) {
    const brokers = await admin.brokerCount();
    await admin.createTopic(topic, journalSpec(options, { brokers, sourcePartitions }));
    journal = await untilVisible(admin, topic, clock);
    const { partitions: shards, replicationFactor } = journal;
    logger.info({ topic, shards, replicationFactor }, 'created the journal topic');
    // Another replica may have created it first with different settings.
    await checkJournal(journal);
  }
  return {
    shards: journal.partitions,
    deleteRetentionMs: Number(journal.settings.get('delete.retention.ms')),
    maxOutputBytes: maxOutputBytes || Infinity,
    maxDeadLetterBytes: maxDeadLetterBytes || MAX_MESSAGE_BYTES,
  };
}

function refuse(problem: string | undefined): void {
  if (problem !== undefined) throw new RefusedError(problem);
}

/** Returns the problem of a compacted output topic, which would lose terminal records and require keys. */
export function outputProblem({ settings }: TopicDescription, topic: string): string | undefined {
  const policy = settings.get('cleanup.policy') ?? '';
  if (!policy.split(',').some((one) => one.trim() === 'compact')) return undefined;
  return `cleanup.policy of topic ${quote(topic)} is ${quote(policy)}, must be "delete": compaction removes decisions, and refuses records without a key`;
}

async function untilVisible(
  admin: ClusterAdmin,
  topic: string,
  clock: Clock,
): Promise<TopicDescription> {
  const untilMs = clock.monotonic() + VISIBLE_MS;
  for (;;) {
    const made = await admin.describeTopic(topic);
    if (made !== undefined) return made;
    if (clock.monotonic() > untilMs)
      throw new Error(
        `the journal topic ${topic} was created but is not visible after ${VISIBLE_MS} ms: start again`,
      );
    await clock.sleep(LOOK_AGAIN_MS);
  }
}

/** Returns the reason why an existing topic cannot be this pipeline's journal, and the remedy. */
export function journalProblem(
  options: Pick<PipelineOptions, 'journal'>,
  journal: TopicDescription,
  brokers: number,
): string | undefined {
  const { topic, partitions } = options.journal;
  const problems: string[] = [];
  const check = (name: string, isValid: (value: string) => boolean, must: string) => {
    const value = journal.settings.get(name) ?? '';
    const shown = /^\d*$/.test(value) ? value : quote(value);
    if (!isValid(value)) problems.push(`${name} is ${shown}, must be ${must}`);
  };
  check(
    'cleanup.policy',
    (value) => value === 'compact',
    'exactly "compact" (anything else deletes live jobs)',
  );
  check(
    'min.insync.replicas',
    (value) => brokers === 1 || !(Number(value) < 2),
    'at least 2 in a cluster of more than one broker',
  );
  check(
    'delete.retention.ms',
    (value) => Number(value) >= MIN_DELETE_RETENTION_MS,
    `at least ${MIN_DELETE_RETENTION_MS} (1 h)`,
  );
  const remedies = problems.length === 0 ? [] : ['Alter the topic with kafka-configs.'];
  if (partitions !== undefined && partitions !== journal.partitions) {
    problems.push(
      `it has ${journal.partitions} partitions, but journal.partitions is ${partitions}`,
    );
    remedies.push(
      `Set journal.partitions to ${journal.partitions} or auto; another number of shards needs a new journal and a new group (docs/faq.md, "Can I change the number of shards?").`,
    );
  }
  if (problems.length === 0) return undefined;
  return `the journal topic ${quote(topic)} cannot be used: ${problems.join('; ')}. ${remedies.join(' ')}`;
}

/** Returns the error for a changed number of journal partitions. Such a change would move records to other shards. */
export function journalResized(
  { journal, source }: PipelineOptions,
  before: number,
  now: number,
): RefusedError {
  return new RefusedError(
    `journal ${journal.topic}: it had ${before} partitions when this process started and has ${now} now, but their number must never change. ` +
      `Create another journal topic with ${before} partitions, copy partitions 0 to ${before - 1} of ${journal.topic} to it one to one (keys, values, order), set journal.topic to it and keep group ${source.group}.`,
  );
}
