/** The topics of a pipeline: what it needs to find, and the journal that it makes or refuses (DESIGN 1). */
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
/** A broker may not know for a while of a topic that another one has just made. */
const VISIBLE_MS = 30_000;
const LOOK_AGAIN_MS = 100;

/** Settings of a journal that this connector creates. */
function journalSettings(minInsyncReplicas: number): Map<string, string> {
  return new Map([
    ['cleanup.policy', 'compact'],
    ['segment.bytes', String(16 * 1024 * 1024)],
    ['segment.ms', String(10 * 60_000)],
    ['min.cleanable.dirty.ratio', '0.1'],
    ['delete.retention.ms', String(24 * 3_600_000)],
    ['min.insync.replicas', String(minInsyncReplicas)],
  ]);
}

/**
 * Checks the topics, makes the journal when it is missing.
 * @throws RefusedError that names the topic, the setting, and what to change.
 */
export async function prepareTopics(
  admin: ClusterAdmin,
  options: PipelineOptions,
  logger: Logger,
  clock: Clock,
): Promise<TopicFacts> {
  const source = await mustExist(admin, options.source.topic, 'source');
  const output = await mustExist(admin, options.output.topic, 'output');
  checkOutput(output, options.output.topic);
  const deadLetters = await mustExist(admin, options.deadLetters.topic, 'dead-letter');
  checkOutput(deadLetters, options.deadLetters.topic);
  const owned = await ownCommits(admin, options, source.partitions);
  const found = await admin.describeTopic(options.journal.topic);
  if (found !== undefined) await checkJournal(admin, options, found);
  await refuseForgotten(admin, options, owned, found?.partitions);
  const journal = found ?? (await createJournal(admin, options, source, logger, clock));
  return {
    shards: journal.partitions,
    deleteRetentionMs: Number(journal.settings.get('delete.retention.ms')),
    maxOutputBytes: maxMessageOf(output) ?? Number.POSITIVE_INFINITY,
    maxDeadLetterBytes: maxMessageOf(deadLetters) ?? MAX_MESSAGE_BYTES,
  };
}

function maxMessageOf({ settings }: TopicDescription): number | undefined {
  const setting = settings.get('max.message.bytes');
  return setting === undefined ? undefined : Number(setting);
}

async function mustExist(
  admin: ClusterAdmin,
  topic: string,
  role: string,
): Promise<TopicDescription> {
  const found = await admin.describeTopic(topic);
  if (found === undefined)
    throw new RefusedError(
      `the ${role} topic ${JSON.stringify(topic)} does not exist: create it, or correct its name in the configuration`,
    );
  return found;
}

function checkOutput(description: TopicDescription, topic: string): void {
  const problem = outputProblem(description, topic);
  if (problem !== undefined) throw new RefusedError(problem);
}

/** In a compacted topic terminal records would vanish, and Kafka takes none without a key: a shard would stand still. */
export function outputProblem({ settings }: TopicDescription, topic: string): string | undefined {
  const policy = settings.get('cleanup.policy') ?? '';
  if (!policy.split(',').some((one) => one.trim() === 'compact')) return undefined;
  return `cleanup.policy of topic ${JSON.stringify(topic)} is ${JSON.stringify(policy)}, must be "delete": compaction removes all but the newest decision of a key, and records without a key cannot be written at all`;
}

async function createJournal(
  admin: ClusterAdmin,
  options: PipelineOptions,
  source: TopicDescription,
  logger: Logger,
  clock: Clock,
): Promise<TopicDescription> {
  const spec = journalSpec(options, {
    brokers: await admin.brokerCount(),
    sourcePartitions: source.partitions,
  });
  await admin.createTopic(options.journal.topic, spec);
  const made = await untilVisible(admin, options.journal.topic, clock);
  logger.info(
    {
      topic: options.journal.topic,
      shards: made.partitions,
      replicationFactor: made.replicationFactor,
    },
    'created the journal topic',
  );
  // Another replica may have made it first, with other settings.
  await checkJournal(admin, options, made);
  return made;
}

/**
 * The journal that would be made.
 * @throws RefusedError when the cluster cannot have it as it is configured.
 */
export function journalSpec(
  options: Pick<PipelineOptions, 'journal'>,
  { brokers, sourcePartitions }: { readonly brokers: number; readonly sourcePartitions: number },
): TopicSpec {
  const replicationFactor = options.journal.replicationFactor ?? Math.min(3, brokers);
  if (replicationFactor > brokers) {
    throw new RefusedError(
      `journal.replicationFactor is ${replicationFactor}, but the cluster has ${brokers} broker(s): lower it, or leave it out`,
    );
  }
  if (brokers > 1 && replicationFactor < 2) {
    throw new RefusedError(
      `journal.replicationFactor is ${replicationFactor}: in a cluster of ${brokers} brokers the journal needs at least 2 replicas`,
    );
  }
  const partitions = options.journal.partitions ?? Math.min(sourcePartitions, DEFAULT_MAX_SHARDS);
  return { partitions, replicationFactor, settings: journalSettings(brokers === 1 ? 1 : 2) };
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

async function checkJournal(
  admin: ClusterAdmin,
  options: PipelineOptions,
  journal: TopicDescription,
): Promise<void> {
  const problem = journalProblem(options, journal, await admin.brokerCount());
  if (problem !== undefined) throw new RefusedError(problem);
}

/** Why a topic that is there cannot be this pipeline's journal, and what to change. */
export function journalProblem(
  options: Pick<PipelineOptions, 'journal'>,
  journal: TopicDescription,
  brokers: number,
): string | undefined {
  const { topic } = options.journal;
  const setting = (name: string): string => journal.settings.get(name) ?? '';
  const problems: string[] = [];
  if (setting('cleanup.policy') !== 'compact') {
    problems.push(
      `cleanup.policy is ${JSON.stringify(setting('cleanup.policy'))}, must be exactly "compact" (anything else deletes live jobs)`,
    );
  }
  if (Number(setting('min.insync.replicas')) < 2 && brokers > 1) {
    problems.push(
      `min.insync.replicas is ${setting('min.insync.replicas')}, must be at least 2 in a cluster of more than one broker`,
    );
  }
  if (!(Number(setting('delete.retention.ms')) >= MIN_DELETE_RETENTION_MS)) {
    problems.push(
      `delete.retention.ms is ${setting('delete.retention.ms')}, must be at least ${MIN_DELETE_RETENTION_MS} (1 h)`,
    );
  }
  const remedies = problems.length === 0 ? [] : ['Alter the topic with kafka-configs.'];
  const { partitions } = options.journal;
  if (partitions !== undefined && partitions !== journal.partitions) {
    problems.push(
      `it has ${journal.partitions} partitions, but the configuration says ${partitions}; the number of shards is fixed when the journal is made`,
    );
    remedies.push(
      `Set journal.partitions to ${journal.partitions} or auto; another number of shards needs a new journal and a new group, as docs/faq.md, "Can I change the number of shards?", shows.`,
    );
  }
  if (problems.length === 0) return undefined;
  return `the journal topic ${JSON.stringify(topic)} cannot be used: ${problems.join('; ')}. ${remedies.join(' ')}`;
}
