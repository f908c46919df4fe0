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
  ClassFigures,
  ClassName,
  EvaluationFigures,
} from '../../tools/evaluate/confusion-matrix.ts';
import type { EvaluationCounts, EvaluationReport } from '../../tools/evaluate/evaluate.ts';
import { configOption, pointInTime, runTool, type ToolFlags } from '../tool-options.ts';

const WEEK_MS = 7 * 86_400_000;
const COLUMNS = 100;
/** Rows of a table. */
const MAX_ROWS = 40;
const MAX_NAME = 18;

interface EvaluateFlags extends ToolFlags {
  readonly from?: number;
  readonly to?: number;
  readonly type?: string;
  readonly label?: string;
}

export function evaluateCommand(program: Command, io: Io): void {
  configOption(program.command('evaluate'))
    .summary('measure how often decisions agree with expected results')
    .description(
      'Compares the results of published decisions with the expected results of their events: precision, recall, F1 and the confusion matrix, in total, by content type and by label.',
    )
    .addArgument(
      new Argument('[pipeline]', 'pipeline; required when the configuration has several'),
    )
    .option(
      '--from <time>',
      'first time of publication: ISO 8601, or an age (15m, 2h, 7d; default: 7d)',
      pointInTime,
    )
    .option('--to <time>', 'end of the time (default: the end of the topic)', pointInTime)
    .option('--type <type>', 'only decisions of this content type')
    .option('--label <name>', 'only decisions to which this label applies')
    .option('--json', 'print a JSON document (docs/tools.md)')
    .addHelpText(
      'after',
      helpText(
        [
          'evaluate -c connector.yaml',
          'evaluate posts --from 30d --type comment -c connector.yaml',
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
      const { evaluate } = await import('../../tools/evaluate/evaluate.ts');
      await runTool(
        io,
        pipeline === undefined ? flags : { ...flags, pipeline },
        (tools, progress) =>
          evaluate(tools, { fromMs, toMs, type, label }, ({ done, total, evaluated }) =>
            progress.show(() => `${bar(done, total)}  ${counted(evaluated, 'decision')} evaluated`),
          ),
        evaluationText,
        ({ unreadable }) => (unreadable > 0 ? EXIT.problems : EXIT.ok),
      );
    });
}

/** Returns the answer for people, at most 100 columns wide. */
export function evaluationText(report: EvaluationReport): string {
  const { overall, types, labels } = report;
  if (overall.evaluated === 0) return lastLines(report);
  return [
    table(FIGURES, figureRows(overall)),
    matrixText(overall),
    groupTable(
      'TYPE',
      types.map(({ type, ...figures }) => [type, figures]),
    ),
    ...(labels.length === 0
      ? []
      : [
          groupTable(
            'LABEL',
            labels.map(({ label, ...figures }) => [label, figures]),
          ),
        ]),
    lastLines(report),
  ].join('\n');
}

const FIGURES = ['RESULT', 'SUPPORT', 'DECIDED', 'PRECISION', 'RECALL', 'F1'];
const percentCell = (share: number | null): TableCell => (share === null ? null : percent(share));
const nameCell = (name: ClassName): string =>
  name === null ? '(others)' : printable(name, MAX_NAME);

/** Rows of the classes, and of all together: each share of all is the agreement. */
function figureRows({ classes, evaluated, agreement }: EvaluationFigures): TableCell[][] {
  const all = { support: evaluated, decided: evaluated };
  const shares = { precision: agreement, recall: agreement, f1: agreement };
  return [
    ...classes.map((one) => [nameCell(one.name), one] as const),
    ['(all)', { ...all, ...shares }] as const,
  ].map(([name, one]: readonly [string, Omit<ClassFigures, 'name'>]) => [
    name,
    one.support,
    one.decided,
    percentCell(one.precision),
    percentCell(one.recall),
    percentCell(one.f1),
  ]);
}

/** Matrix with a column per class, or, if that is too wide, its cells. */
function matrixText({ classes, matrix }: EvaluationFigures): string {
  const counts = new Map(
    matrix.map(({ expected, result, count }) => [JSON.stringify([expected, result]), count]),
  );
  const names = classes.map(({ name }) => name);
  const wide = table(
    ['EXPECTED \\ DECIDED', ...names.map(nameCell)],
    names.map((expected) => [
      nameCell(expected),
      ...names.map((result) => counts.get(JSON.stringify([expected, result])) ?? 0),
    ]),
  );
  if (wide.split('\n').every(({ length }) => length <= COLUMNS)) return wide;
  const cells = [...matrix].sort((a, b) => b.count - a.count);
  return cutTable(
    ['EXPECTED', 'DECIDED', 'COUNT'],
    cells.map(({ expected, result, count }) => [nameCell(expected), nameCell(result), count]),
  );
}

function groupTable(
  head: string,
  groups: readonly (readonly [name: string | null, figures: EvaluationFigures])[],
): string {
  const rows = groups.flatMap(([name, figures]) =>
    figureRows(figures).map((row) => [nameCell(name), ...row]),
  );
  return cutTable([head, ...FIGURES], rows);
}

function cutTable(heads: readonly string[], rows: readonly (readonly TableCell[])[]): string {
  const rest = rows.length - MAX_ROWS;
  const more = rest > 0 ? `… ${counted(rest, 'row')} more (--json lists all)\n` : '';
  return table(heads, rows.slice(0, MAX_ROWS)) + more;
}

const APART: readonly (readonly [keyof EvaluationCounts, string])[] = [
  ['withoutExpected', 'without an expected result'],
  ['errors', 'with status ERROR'],
  ['withoutResult', 'without a result'],
  ['superseded', 'replaced by a later decision'],
  ['unreadable', 'unreadable'],
];

function lastLines(report: EvaluationReport): string {
  const { overall, topic, fromMs, toMs } = report;
  const { evaluated, agreement } = overall;
  const apart = APART.filter(([key]) => report[key] > 0);
  return [
    agreement === null
      ? 'No decision has an expected result: --from extends the time.'
      : `${percent(agreement)} of ${counted(evaluated, 'decision')} agree with the expected result.`,
    `Topic ${topic}, ${instant(fromMs)} to ${toMs === null ? 'now' : instant(toMs)}.`,
    ...(apart.length === 0 ? [] : ['Not evaluated:']),
    ...apart.map(([key, text]) => `  ${grouped(report[key])} ${text}`),
    '',
  ].join('\n');
}
