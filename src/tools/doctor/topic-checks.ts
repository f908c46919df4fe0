/** The topics that records come from and go to: there, healthy, set as they must be, and with the rights that are needed. */
import type { KafkaOperation } from '../../core/ports/cluster-probe.ts';
import type { TopicDescription } from '../../core/ports/kafka.ts';
import { outputProblem } from '../../pipeline/shard/journal-topic.ts';
import { type Check, counted, type Finding, failed, together, warning } from './check.ts';
import type { PipelineParts } from './parts.ts';
import { replicaFindings } from './replicas.ts';
import type { Topic, Topics } from './topics.ts';

export interface TopicChecks {
  readonly source: Check;
  readonly output: Check;
  readonly deadLetters: Check;
}

export function topicChecks(pipeline: PipelineParts, topics: Topics, reached: Check): TopicChecks {
  const { source, output, deadLetters } = pipeline.engine;
  const check = (
    name: string,
    role: string,
    topic: string,
    needed: readonly KafkaOperation[],
    more: (topic: Topic) => Promise<readonly Finding[]>,
  ): Check => ({
    name,
    pipeline: pipeline.name,
    about: `${role} topic ${topic}`,
    needs: [reached],
    async run() {
      const found = await topics.get(topic);
      if (found === undefined)
        return failed('it does not exist', 'create it, or correct its name in the configuration');
      const findings = [
        ...topics.rights(topic, found, needed),
        ...replicaFindings(found, await topics.brokers(), needed.includes('WRITE')),
        ...(await more(found)),
      ];
      const { partitions, replicationFactor } = found.description;
      return together(
        `${counted(partitions, 'partition')}, ${counted(replicationFactor, 'replica')}, may ${needed.join(' and ')}`,
        findings,
      );
    },
  });
  const largestSource = async () =>
    (await topics.get(source.topic).catch(() => undefined))?.description;
  return {
    source: check('topic.source', 'source', source.topic, ['READ'], async ({ description }) =>
      sourceFindings(pipeline, description),
    ),
    output: check('topic.output', 'output', output.topic, ['WRITE'], async ({ description }) =>
      outputFindings(pipeline, description, await largestSource()),
    ),
    deadLetters: check(
      'topic.deadLetters',
      'dead-letter',
      deadLetters.topic,
      ['WRITE'],
      async ({ description }) => letterFindings(pipeline, description, await largestSource()),
    ),
  };
}

function sourceFindings({ engine }: PipelineParts, { settings }: TopicDescription): Finding[] {
  const findings: Finding[] = [];
  const policies = (settings.get('cleanup.policy') ?? '').split(',').map((one) => one.trim());
  if (policies.includes('compact'))
    findings.push(
      warning(
        'it is compacted: a record that a retry reads again may be gone, and then becomes a dead letter (source_unavailable)',
        'set cleanup.policy=delete, if keys come more than once',
      ),
    );
  const retentionMs = Number(settings.get('retention.ms') ?? -1);
  const { maxReviewTimeMs } = engine.review;
  const neededMs = maxReviewTimeMs * engine.review.attempts;
  if (policies.includes('delete') && retentionMs >= 0 && retentionMs < neededMs)
    findings.push(
      warning(
        `retention.ms is ${retentionMs}, but ${engine.review.attempts} attempts of ${maxReviewTimeMs} ms each (review.attempts, review.maxReviewTime) may read it again after ${neededMs} ms`,
        `raise retention.ms to ${neededMs} or more, or lower review.maxReviewTime`,
      ),
    );
  return findings;
}

function outputFindings(
  pipeline: PipelineParts,
  description: TopicDescription,
  source: TopicDescription | undefined,
): Finding[] {
  const problem = outputProblem(description, pipeline.engine.output.topic);
  const findings = problem === undefined ? [] : [failed(problem)];
  const largest = Math.min(
    pipeline.maxContentBytes,
    maxMessage(source) ?? Number.POSITIVE_INFINITY,
  );
  const takes = maxMessage(description);
  if (pipeline.includesContent && takes !== undefined && takes < largest)
    findings.push(
      warning(
        `max.message.bytes is ${takes}, but with output.includeContent decisions repeat contents of up to ${largest} bytes: larger ones become dead letters (too_large)`,
        `raise max.message.bytes above ${largest}, or lower source.maxContent`,
      ),
    );
  else
    findings.push(...smallMessages(takes, 'a larger decision becomes a dead letter (too_large)'));
  return findings;
}

function letterFindings(
  pipeline: PipelineParts,
  description: TopicDescription,
  source: TopicDescription | undefined,
): Finding[] {
  const problem = outputProblem(description, pipeline.engine.deadLetters.topic);
  const findings = problem === undefined ? [] : [failed(problem)];
  const [takes, comes] = [maxMessage(description), maxMessage(source)];
  if (takes !== undefined && comes !== undefined && takes < comes)
    findings.push(
      warning(
        `max.message.bytes is ${takes}, that of the source ${comes}: a dead letter of a larger record has no value, and cannot be replayed`,
        `raise max.message.bytes to ${comes} or more`,
      ),
    );
  else
    findings.push(
      ...smallMessages(
        takes,
        'a dead letter of a larger record has no value, and cannot be replayed',
      ),
    );
  return findings;
}

/** Kafka's default, 1,048,588, is above it. */
const SMALL_MESSAGE_BYTES = 900_000;

/** Writes are split to the size that the topic accepts; a single record cannot be split. */
function smallMessages(takes: number | undefined, consequence: string): Finding[] {
  if (takes === undefined || takes >= SMALL_MESSAGE_BYTES) return [];
  return [
    warning(
      `max.message.bytes is ${takes}: transactions need more requests, and ${consequence}`,
      'leave max.message.bytes at its default',
    ),
  ];
}

function maxMessage(description: TopicDescription | undefined): number | undefined {
  const text = description?.settings.get('max.message.bytes');
  return text === undefined ? undefined : Number(text);
}
