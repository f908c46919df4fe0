import type { Command } from 'commander';
import { EXIT } from '../../../packages/client/src/cli/exit-codes.ts';
import { helpText, type Io } from '../../../packages/client/src/cli/io.ts';
import { counted, table } from '../../../packages/client/src/cli/text.ts';
import type { TopicReport } from '../../tools/doctor/create-topics.ts';
import {
  onPipelines,
  printAnswer,
  type ToolFlags,
  toolOptions,
  wholeNumber,
} from '../tool-options.ts';

interface TopicsFlags extends ToolFlags {
  readonly partitions: number;
  readonly replicationFactor?: number;
  readonly yes?: true;
}

const DEFAULT_PARTITIONS = 6;
const MAX_PARTITIONS = 10_000;

export function topicsCommand(program: Command, io: Io): void {
  const group = program.command('topics').description('create the topics of a configuration');
  toolOptions(group.command('create'), 'only this pipeline')
    .summary('create missing topics')
    .description(
      'Creates the missing source, output, dead-letter and journal topics of all pipelines with the settings that they need. Existing topics are never altered; doctor compares them with what the pipelines need. Without --yes it is a dry run.',
    )
    .option(
      '--partitions <n>',
      'number of partitions of a new source topic; new outputs have the same number',
      wholeNumber('The number of partitions', 1, MAX_PARTITIONS),
      DEFAULT_PARTITIONS,
    )
    .option(
      '--replication-factor <n>',
      'replicas of new topics; default: 3, or the number of brokers if there are fewer',
      wholeNumber('The replication factor', 1, 100),
    )
    .option('-y, --yes', 'create the topics (default: dry run)')
    .addHelpText(
      'after',
      helpText(
        [
          'topics create --config connector.yaml',
          'topics create --config connector.yaml --partitions 12 --yes',
        ],
        '',
        'refused',
        'unreachable',
      ),
    )
    .action((flags: TopicsFlags) => create(io, flags));
}

async function create(io: Io, flags: TopicsFlags): Promise<void> {
  const { partitions, replicationFactor, yes = false } = flags;
  await onPipelines(io, flags, async (config, pipelines, signal) => {
    const { runCreateTopics } = await import('../../app/tools/doctor.ts');
    const options = { partitions, replicationFactor, yes };
    const topics = await runCreateTopics(config, { pipelines, signal }, options);
    const json = JSON.stringify({ topics });
    printAnswer(io, flags.json, json, asText(topics, yes));
    return topics.some(({ problem }) => problem !== null) ? EXIT.refused : EXIT.ok;
  });
}

function asText(topics: readonly TopicReport[], created: boolean): string {
  const rows = topics.map(({ settings, problem, state, ...topic }) => [
    ...[topic.pipeline, topic.role, topic.topic, topic.partitions, topic.replicas],
    problem !== null ? 'REFUSED' : state === 'missing' ? 'to be created' : state,
    settings === null
      ? null
      : Object.entries(settings)
          .map((pair) => pair.join('='))
          .join(' '),
  ]);
  const problems = topics.flatMap(({ topic, problem }) =>
    problem === null ? [] : [`${topic}: ${problem}\n`],
  );
  const made = topics.filter(({ settings }) => settings !== null).length;
  const topicsMade = counted(made, 'topic');
  const last = created
    ? `${topicsMade} created.`
    : `Dry run: ${topicsMade} would be created. Add --yes to create ${made === 1 ? 'it' : 'them'}.`;
  return [
    table('PIPELINE ROLE TOPIC PARTITIONS REPLICAS STATE SETTINGS'.split(' '), rows),
    ...(problems.length === 0 ? [] : ['\n', ...problems]),
    `\n${made === 0 ? 'No topic to create.' : last}\n`,
  ].join('');
}
