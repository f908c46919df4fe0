/** What no option can know by itself: how options fit together, within a pipeline and between pipelines. */
import type { Partially } from '../load/draft.ts';
import type { Path } from '../load/path.ts';
import type { Finding } from '../load/problem.ts';
import { derivedNames, type Names } from '../options/pipeline.ts';
import type { Config } from '../schema.ts';
import { formatBytes, formatDuration } from '../units.ts';
import { formatChecks } from './format-checks.ts';
import { kafkaChecks } from './kafka-checks.ts';
import { kindChecks } from './kind-checks.ts';
import { outputChecks } from './output-checks.ts';
import { schemaRegistryChecks } from './schema-registry-checks.ts';
import { serviceNetworkChecks } from './service-checks.ts';

type Draft = Partially<Config>;
type PipelineDraft = Partially<Config['pipelines'][number]>;

/** Share of the memory budget that intake may use (I7); a batch must fit into it. */
const INTAKE_SHARE = 0.7;

export function crossChecks(config: Draft): Finding[] {
  const pipelines = config.pipelines ?? [];
  const names = pipelines.map(namesOf);
  return [
    ...serviceChecks(config),
    ...serviceNetworkChecks(config),
    ...kafkaChecks(config.kafka),
    ...schemaRegistryChecks(config),
    ...pipelines.flatMap((pipeline, index) => [
      ...limitChecks(config, pipeline, ['pipelines', index]),
      ...topicChecks(names[index], ['pipelines', index]),
      ...kindChecks(pipeline, ['pipelines', index]),
      ...formatChecks(pipeline, ['pipelines', index]),
      ...outputChecks(pipeline, ['pipelines', index]),
    ]),
    ...sharingChecks(names),
  ];
}

function serviceChecks({ service }: Draft): Finding[] {
  const { baseMs, capMs } = service?.retry ?? {};
  return ordered(['service', 'retry', 'base'], baseMs, capMs, formatDuration, 'service.retry.cap');
}

function limitChecks(
  config: Draft,
  { source, batch, review, kafka }: PipelineDraft,
  path: Path,
): Finding[] {
  const intakeBytes =
    config.memory?.budgetBytes === undefined
      ? undefined
      : Math.floor(config.memory.budgetBytes * INTAKE_SHARE);
  const half =
    config.kafka?.requestTimeoutMs === undefined
      ? undefined
      : Math.floor(config.kafka.requestTimeoutMs / 2);
  const third =
    kafka?.sessionTimeoutMs === undefined ? undefined : Math.floor(kafka.sessionTimeoutMs / 3);
  return [
    ...ordered(
      [...path, 'batch', 'maxBytes'],
      batch?.maxBytes,
      intakeBytes,
      formatBytes,
      '70 % of memory.budget, the share of intake',
    ),
    ...ordered(
      [...path, 'batch', 'maxBytes'],
      batch?.maxBytes,
      config.service?.transfer?.maxResultBytes,
      formatBytes,
      'service.transfer.maxResultBytes: results repeat the content',
    ),
    ...ordered(
      [...path, 'source', 'maxContent'],
      source?.maxContentBytes,
      batch?.maxBytes,
      formatBytes,
      'batch.maxBytes: one item must fit into a batch',
    ),
    ...ordered(
      [...path, 'review', 'poll', 'initial'],
      review?.poll?.initialMs,
      review?.poll?.maxMs,
      formatDuration,
      'review.poll.max',
    ),
    ...(review?.resultColumn !== undefined &&
    review.resultColumn.trim().toLowerCase() === batch?.referenceColumn?.trim().toLowerCase()
      ? [
          {
            path: [...path, 'review', 'resultColumn'],
            message: 'is batch.referenceColumn, the column of the connector itself',
          },
        ]
      : []),
    ...ordered(
      [...path, 'kafka', 'heartbeat'],
      kafka?.heartbeatMs,
      third,
      formatDuration,
      'a third of kafka.sessionTimeout',
    ),
    ...(third !== undefined && half !== undefined && half < third
      ? ordered(
          [...path, 'kafka', 'maxWait'],
          kafka?.maxWaitMs,
          half,
          formatDuration,
          'half of kafka.requestTimeout',
        )
      : ordered(
          [...path, 'kafka', 'maxWait'],
          kafka?.maxWaitMs,
          third,
          formatDuration,
          'a third of kafka.sessionTimeout',
        )),
  ];
}

function ordered(
  path: Path,
  amount: number | undefined,
  most: number | undefined,
  show: (amount: number) => string,
  what: string,
): Finding[] {
  if (amount === undefined || most === undefined || amount <= most) return [];
  return [{ path, message: `${show(amount)} is more than ${show(most)}, ${what}` }];
}

const TOPIC_OPTIONS = {
  source: ['source', 'topic'],
  journal: ['journal', 'topic'],
  output: ['output', 'topic'],
  deadLetters: ['deadLetters', 'topic'],
} as const;
type TopicOption = keyof typeof TOPIC_OPTIONS;
const TOPIC_ROLES = Object.keys(TOPIC_OPTIONS) as TopicOption[];

/** The four topics of a pipeline are four. */
function topicChecks(names: Partial<Names> | undefined, path: Path): Finding[] {
  return TOPIC_ROLES.flatMap((role, index) =>
    TOPIC_ROLES.slice(0, index).flatMap((earlier): Finding[] => {
      const name = names?.[role];
      if (name === undefined || name !== names?.[earlier]) return [];
      return [
        {
          path: [...path, ...TOPIC_OPTIONS[role]],
          message: `${name} is already ${TOPIC_OPTIONS[earlier].join('.')} of this pipeline; each needs a topic of its own`,
        },
      ];
    }),
  );
}

/** Names, groups and journals belong to one pipeline, and a journal is nothing else to any other. */
function sharingChecks(pipelines: readonly Partial<Names>[]): Finding[] {
  const findings: Finding[] = [];
  const own = [
    { role: 'name', option: ['name'] },
    { role: 'group', option: ['source', 'group'] },
    { role: 'journal', option: ['journal', 'topic'] },
  ] as const;
  for (const [index, names] of pipelines.entries()) {
    for (const { role, option } of own) {
      const name = names[role];
      const first = name === undefined ? -1 : pipelines.findIndex((other) => other[role] === name);
      if (first >= 0 && first < index) {
        findings.push({
          path: ['pipelines', index, ...option],
          message: `${name} is already ${option.join('.')} of pipelines[${first}]; two pipelines cannot share it`,
        });
      }
    }
    for (const [other, { journal }] of pipelines.entries()) {
      if (other === index || journal === undefined) continue;
      for (const role of ['source', 'output', 'deadLetters'] as const) {
        if (names[role] !== journal) continue;
        findings.push({
          path: ['pipelines', index, ...TOPIC_OPTIONS[role]],
          message: `${journal} is the journal of pipelines[${other}]; nothing else may use it`,
        });
      }
    }
  }
  return findings;
}

/** Names as they will be; undefined where a name, or one that it follows from, is not known. */
function namesOf({ name, source, journal, output, deadLetters }: PipelineDraft): Partial<Names> {
  const unknown = '\0';
  const names = derivedNames({
    name: name ?? unknown,
    source: source?.topic ?? unknown,
    group: source?.group ?? unknown,
    journal: journal?.topic ?? unknown,
    output: output?.topic ?? unknown,
    deadLetters: deadLetters?.topic ?? unknown,
  });
  return Object.fromEntries(Object.entries(names).filter(([, text]) => !text.includes(unknown)));
}
