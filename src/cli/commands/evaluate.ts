import { Argument, type Command } from 'commander';
import { CommandFailed, EXIT } from '../../../packages/client/src/cli/exit-codes.ts';
import { helpText, type Io } from '../../../packages/client/src/cli/io.ts';
import { bar } from '../../../packages/client/src/cli/progress.ts';
import {
  counted,
  grouped,
  instant,
  percent,
  printable,
  type TableCell,
  table,
} from '../../../packages/client/src/cli/text.ts';
import type {
  AgainstReport,
  ClassName,
  EvaluationCounts,
  EvaluationReport,
} from '../../tools/inspect/evaluate.ts';
import { configOption, pointInTime, runTool, type ToolFlags } from '../tool-options.ts';

const WEEK_MS = 7 * 86_400_000;
/** Maximum number of rows of a table. */
const MAX_ROWS = 40;
const MAX_NAME = 30;
/** Maximum number of event ids in a row. `--json` shows more. */
const SHOWN_EXAMPLES = 3;

interface EvaluateFlags extends ToolFlags {
  readonly from?: number;
  readonly to?: number;
  readonly type?: string;
  readonly label?: string;
  readonly against?: string;
}

export function evaluateCommand(program: Command, io: Io): void {
  configOption(program.command('evaluate'))
    .summary('measure how often decisions agree with expected results')
    .description(
      'Compares the results of published decisions with the expected results of their events: precision, recall and F1 of each result, and the confusion matrix.',
    )
    .addArgument(
      new Argument('[pipeline]', 'pipeline; required when the configuration has several'),
    )
    .option(
      '--from <time>',
      'start of the period of publication: ISO 8601, or an age (15m, 2h, 7d; default: 7d)',
      pointInTime,
    )
    .option('--to <time>', 'end of the period (default: the end of the topic)', pointInTime)
    .option('--type <type>', 'only decisions of this content type')
    .option('--label <name>', 'only decisions to which this label applies')
    .option('--against <pipeline>', 'compare with the results of this pipeline instead')
    .option('--json', 'print a JSON document (docs/tools.md)')
    .addHelpText(
      'after',
      helpText(
        [
          'evaluate -c connector.yaml',
          'evaluate posts --from 30d --type comment -c connector.yaml',
          'evaluate draft --against posts -c connector.yaml',
        ],
        'docs/trust-and-safety.md explains the figures.',
        'ok',
        'problems',
      ),
    )
    .action(async (pipeline: string | undefined, flags: EvaluateFlags) => {
      const { from: fromMs = Date.now() - WEEK_MS, to: toMs, type, label } = flags;
      if (toMs !== undefined && toMs <= fromMs)
        throw new CommandFailed(
          `the time from ${instant(fromMs)} to ${instant(toMs)} is empty: change --from or --to`,
        );
      const { evaluate } = await import('../../tools/inspect/evaluate.ts');
      await runTool(
        io,
        pipeline === undefined ? flags : { ...flags, pipeline },
        async (tools, progress) => {
          const against =
            flags.against === undefined ? undefined : await tools.another(flags.against);
          return await evaluate(tools, { fromMs, toMs, type, label, against }, ({ done, total }) =>
            progress.show(() => bar(done, total)),
          );
        },
        evaluationText,
        ({ unreadable, against }) =>
          unreadable + (against?.unreadable ?? 0) > 0 ? EXIT.problems : EXIT.ok,
      );
    });
}

const percentCell = (share: number | null): TableCell => (share === null ? null : percent(share));
const nameCell = (name: ClassName): string =>
  name === null ? '(others)' : printable(name, MAX_NAME);

/** Returns the report as text for people. */
export function evaluationText(report: EvaluationReport): string {
  if (report.evaluated === 0) return lastLines(report);
  return [
    cutTable(
      'RESULT SUPPORT DECIDED PRECISION RECALL F1'.split(' '),
      report.classes.map(({ name, support, decided, precision, recall, f1 }) => [
        nameCell(name),
        ...[support, decided],
        ...[precision, recall, f1].map(percentCell),
      ]),
    ),
    cutTable(
      [report.against ? 'AGAINST' : 'EXPECTED', 'DECIDED', 'COUNT', 'EXAMPLES'],
      report.matrix.map(({ expected, result, count, examples }) => [
        nameCell(expected),
        nameCell(result),
        count,
        examples.slice(-SHOWN_EXAMPLES).join(' '),
      ]),
    ),
    lastLines(report),
  ].join('\n');
}

function cutTable(heads: readonly string[], rows: readonly (readonly TableCell[])[]): string {
  const rest = rows.length - MAX_ROWS;
  const more = rest > 0 ? `… ${counted(rest, 'row')} more (--json lists all)\n` : '';
  return table(heads, rows.slice(0, MAX_ROWS)) + more;
}

function lastLines(report: EvaluationReport): string {
  const { pipeline, evaluated, agreement, topic, fromMs, toMs, against } = report;
  const expected = against ? `a result of ${against.pipeline}` : 'an expected result';
  const others: readonly Part[] = against
    ? [[against.unpaired, `without a result of ${pipeline}`], ...partsOf(against)]
    : [];
  const apart: readonly Part[] = [
    [report.withoutExpected, `without ${expected}`],
    ...partsOf(report),
    ...others.map(([count, text]): Part => [count, `of ${against?.pipeline} ${text}`]),
  ];
  const listed = apart.filter(([count]) => count > 0);
  return [
    agreement === null
      ? `No decision has ${expected}. Use --from to extend the period.`
      : `${percent(agreement)} of ${counted(evaluated, 'decision')} agree with ${against?.pipeline ?? 'the expected result'}.`,
    ...labelLines(pipeline, against),
    `Topic ${topic}, ${instant(fromMs)} to ${toMs === null ? 'now' : instant(toMs)}.`,
    ...(listed.length === 0 ? [] : ['Not evaluated:']),
    ...listed.map(([count, text]) => `  ${grouped(count)} ${text}`),
    '',
  ].join('\n');
}

/** Number of decisions that are not part of the figures, and text that describes them. */
type Part = readonly [count: number, text: string];

const partsOf = (counts: Omit<EvaluationCounts, 'withoutExpected'>): readonly Part[] => [
  [counts.errors, 'with status ERROR'],
  [counts.withoutResult, 'without a result'],
  [counts.unreadable, 'unreadable'],
];

function labelLines(name: string, against: AgainstReport | undefined): string[] {
  if (against === undefined || against.withExpected === 0) return [];
  const { pipeline, withExpected, correct, evaluatedCorrect } = against;
  const shareOf = (count: number) => percent(count / withExpected);
  return [
    `Of ${counted(withExpected, 'event')} with an expected result, ${name} returned that result for ${shareOf(evaluatedCorrect)}, and ${pipeline} for ${shareOf(correct)}.`,
  ];
}
