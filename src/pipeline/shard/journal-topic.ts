/** Topics of a pipeline: checks those that it needs, and creates its journal or refuses it. */
import type { Clock } from '../../base/clock.ts';
import type { ClusterAdmin, TopicDescription, TopicSpec } from '../../core/ports/kafka.ts';
import type { Logger } from '../../core/ports/telemetry.ts';
import { RefusedError } from '../context/errors.ts';
import type { PipelineOptions } from '../context/options.ts';
import type { TopicFacts } from '../context/pipeline-context.ts';
import { ownCommits, refuseForgotten } from './forgotten-journal.ts';

const MIN_DELETE_RETENTION_MS = 3_600_000;
const DEFAULT_MAX_SHARDS = 64;
/** Kafka's default for max.message.bytes. */
const MAX_MESSAGE_BYTES = 1_048_588;
/** Longest time that a new topic may be unknown to another broker. */
const VISIBLE_MS = 30_000;
const LOOK_AGAIN_MS = 100;

/** Settings of a journal that this connector creates, beside min.insync.replicas. */
const SETTINGS = [
  ['cleanup.policy', 'compact'],
  ['segment.bytes', String(16 * 1024 * 1024)],
  ['segment.ms', String(10 * 60_000)],
  ['min.cleanable.dirty.ratio', '0.1'],
  ['delete.retention.ms', String(24 * 3_600_000)],
] as const;

const quote = (text: string): string => JSON.stringify(text);

/**
 * Checks the topics, and creates the journal if it is missing.
 * @throws RefusedError with the topic, the setting, and the remedy
 */
export async function prepareTopics(
  admin: ClusterAdmin,
  options: PipelineOptions,
  logger: Logger,
  clock: Clock,
): Promise<TopicFacts> {
  const topic = options.journal.topic;
  const existing = async (name: string, role: string) => {
    const found = await admin.describeTopic(name);
    if (found !== undefined) return found;
    throw new RefusedError(
      `the ${role} topic ${quote(name)} does not exist: create it, or correct its name in the configuration`,
    );
  };
  const written = async (name: string, role: string) => {
    const found = await existing(name, role);
    refuse(outputProblem(found, name));
    return Number(found.settings.get('max.message.bytes') ?? Number.NaN);
  };
  const checkJournal = async (found: TopicDescription) =>
    refuse(journalProblem(options, found, await admin.brokerCount()));

  const source = await existing(options.source.topic, 'source');
  const maxOutputBytes = await written(options.output.topic, 'output');
  const maxDeadLetterBytes = await written(options.deadLetters.topic, 'dead-letter');
  const owned = await ownCommits(admin, options, source.partitions);
  let journal = await admin.describeTopic(topic);
  if (journal !== undefined) await checkJournal(journal);
  await refuseForgotten(admin, options, owned, journal?.partitions);
  if (journal === undefined) {
    const brokers = await admin.brokerCount();
    const sourcePartitions = source.partitions;
    await admin.createTopic(topic, journalSpec(options, { brokers, sourcePartitions }));
    journal = await untilVisible(admin, topic, clock);
    const { partitions: shards, replicationFactor } = journal;
    logger.info({ topic, shards, replicationFactor }, 'created the journal topic');
    // Another replica may have created it first, with other settings.
    await checkJournal(journal);
  }
  return {
    shards: journal.partitions,
    deleteRetentionMs: Number(journal.settings.get('delete.retention.ms')),
    maxOutputBytes: maxOutputBytes || Number.POSITIVE_INFINITY,
    maxDeadLetterBytes: maxDeadLetterBytes || MAX_MESSAGE_BYTES,
  };
}

function refuse(problem: string | undefined): void {
  if (problem !== undefined) throw new RefusedError(problem);
}

/** Problem of a compacted topic: it loses terminal records, and Kafka takes none without a key. */
export function outputProblem({ settings }: TopicDescription, topic: string): string | undefined {
  const policy = settings.get('cleanup.policy') ?? '';
  if (!policy.split(',').some((one) => one.trim() === 'compact')) return undefined;
  return `cleanup.policy of topic ${quote(topic)} is ${quote(policy)}, must be "delete": compaction removes all but the newest decision of a key, and records without a key cannot be written at all`;
}

/**
 * Specification of the journal that would be created.
 * @throws RefusedError if the cluster cannot have it as it is configured
 */
export function journalSpec(
  { journal }: Pick<PipelineOptions, 'journal'>,
  { brokers, sourcePartitions }: { readonly brokers: number; readonly sourcePartitions: number },
): TopicSpec {
  const replicationFactor = journal.replicationFactor ?? Math.min(3, brokers);
  const given = `journal.replicationFactor is ${replicationFactor}`;
  if (replicationFactor > brokers)
    refuse(`${given}, but the cluster has ${brokers} broker(s): lower it, or leave it out`);
  if (brokers > 1 && replicationFactor < 2)
    refuse(`${given}: in a cluster of ${brokers} brokers the journal needs at least 2 replicas`);
  return {
    partitions: journal.partitions ?? Math.min(sourcePartitions, DEFAULT_MAX_SHARDS),
    replicationFactor,
    settings: new Map([...SETTINGS, ['min.insync.replicas', brokers === 1 ? '1' : '2']]),
  };
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
        `the journal topic ${topic} was created but cannot be seen after ${VISIBLE_MS} ms: start again`,
      );
    await clock.sleep(LOOK_AGAIN_MS);
  }
}

/** Returns the reason why an existing topic cannot be this pipeline's journal, with the remedy. */
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
      `it has ${journal.partitions} partitions, but the configuration says ${partitions}; the number of shards is fixed when the journal is made`,
    );
    remedies.push(
      `Set journal.partitions to ${journal.partitions} or auto; another number of shards needs a new journal and a new group, as docs/faq.md, "Can I change the number of shards?", shows.`,
    );
  }
  if (problems.length === 0) return undefined;
  return `the journal topic ${quote(topic)} cannot be used: ${problems.join('; ')}. ${remedies.join(' ')}`;
}
