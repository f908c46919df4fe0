/**
 * Evaluation of published decisions: their results are compared with the expected results of their
 * events, or with the results of another pipeline on the same events.
 */
import { FirstNames } from '../../../packages/client/src/base/counts.ts';
import { isObject } from '../../../packages/client/src/base/json/json-values.ts';
import { CoordinateSet } from '../../core/journal/job.ts';
import type { SourceCoordinate } from '../../core/record.ts';
import { InspectError, type InspectedPipeline, type Inspection } from './context.ts';
import { decisionMembers } from './decision-value.ts';
import { type ReadProgress, rangesBetween, scanTerminals, type TerminalRecord } from './outputs.ts';

/** Maximum number of results with rows of their own, and maximum length of their names. The others share a row. */
export const MAX_CLASSES = 50;
const MAX_NAME = 200;
/** Maximum number of event ids in a cell. */
const MAX_EXAMPLES = 10;
/**
 * Maximum memory for the other pipeline's results. As measured with two different results, it
 * suffices for 500 million events of a whole topic (4 bits each), or for 7 million of a 1 % sample
 * (38 bytes each).
 */
const MAX_HELD_BYTES = 256 * 1024 * 1024;

export interface EvaluationRequest {
  /** Range of publication times in ms. `toMs` is not included. Its default is the end of the topic. */
  readonly fromMs: number;
  readonly toMs?: number | undefined;
  /** Content type of the decisions to include. Default: all. */
  readonly type?: string | undefined;
  /** Label that must apply to the decisions to include. If undefined, labels are ignored. */
  readonly label?: string | undefined;
  /** Pipeline whose results are the expected ones; default: the expected results of the events. */
  readonly against?: InspectedPipeline | undefined;
}

/** Name of a result. null stands for all results without a row of their own. */
export type ClassName = string | null;

/** Figures of one result. A figure that is not defined, such as the precision without decisions, is null. */
export interface ClassFigures {
  readonly name: ClassName;
  /** Number of decisions with this expected result, and number of decisions with this result. */
  readonly support: number;
  readonly decided: number;
  /** Share of `decided` with this expected result. */
  readonly precision: number | null;
  /** Share of `support` with this result. */
  readonly recall: number | null;
  readonly f1: number | null;
}

interface Cell {
  readonly expected: ClassName;
  readonly result: ClassName;
  readonly count: number;
  /** Ids of some events with a result other than the expected one. */
  readonly examples: readonly string[];
}

/** Numbers of selected decisions that are not part of the figures. */
export interface EvaluationCounts {
  /** Decisions with status ERROR. */
  errors: number;
  withoutExpected: number;
  /** Decisions with an expected result and status SUCCESS, but without a result. */
  withoutResult: number;
  /** Records that cannot be read, or are not decisions of this connector. */
  unreadable: number;
}

/** Comparison with the other pipeline. A pair is an event for which both pipelines have a result. */
export interface AgainstReport extends Omit<EvaluationCounts, 'withoutExpected'> {
  readonly pipeline: string;
  readonly topic: string;
  /** Number of events for which only the other pipeline has a result. */
  readonly unpaired: number;
  /** Number of pairs whose event has an expected result. */
  readonly withExpected: number;
  /** Numbers of those pairs in which the other pipeline, or the evaluated one, has the expected result. */
  readonly correct: number;
  readonly evaluatedCorrect: number;
}

export interface EvaluationReport extends EvaluationCounts {
  readonly pipeline: string;
  readonly topic: string;
  readonly fromMs: number;
  readonly toMs: number | null;
  readonly evaluated: number;
  readonly agreeing: number;
  readonly agreement: number | null;
  /** Classes by support, largest first. */
  readonly classes: readonly ClassFigures[];
  /** Cells above 0 of the confusion matrix, the largest first. */
  readonly matrix: readonly Cell[];
  readonly against?: AgainstReport;
}

/** Decision with status SUCCESS. A missing or empty string is undefined. */
interface Decided extends SourceCoordinate {
  readonly eventId: string;
  readonly result: string | undefined;
  readonly expected: string | undefined;
}

/** Reads committed records, up to the ends that are stable at the start. @throws InspectError */
async function readDecided(
  inspection: Inspection,
  { fromMs, toMs, type, label }: EvaluationRequest,
  onDecided: (decided: Decided) => void,
  onProgress: (state: ReadProgress) => void,
): Promise<Pick<EvaluationCounts, 'errors' | 'unreadable'>> {
  const { name, kind, topics } = inspection.pipeline;
  if (kind !== 'review')
    throw new InspectError(
      'usage',
      `pipeline ${name} is of kind ${kind}: only the decisions of reviews have expected results`,
    );
  const counts = { errors: 0, unreadable: 0 };
  const add = ({ partition, offset, eventId }: TerminalRecord, members: unknown): undefined => {
    const { status, result, expected_result, labels, batch } = isObject(members) ? members : {};
    if ((status !== 'SUCCESS' && status !== 'ERROR') || !isObject(batch)) counts.unreadable++;
    else if (type !== undefined && batch.type !== type) return;
    else if (label !== undefined && !applies(labels, label)) return;
    else if (status === 'ERROR') counts.errors++;
    else {
      const texts = { result: textOf(result), expected: textOf(expected_result) };
      onDecided({ partition, offset, eventId, ...texts });
    }
  };
  const ranges = await rangesBetween(inspection, topics.decisions, fromMs, toMs);
  await scanTerminals(
    inspection,
    ranges.map((range) => ({ ...range, kind: 'decision', start: range.from })),
    (terminal) => {
      const members = decisionMembers(terminal.record.value, inspection.readFramed);
      if (!(members instanceof Promise)) return add(terminal, members);
      return members.then((read) => add(terminal, read));
    },
    onProgress,
    (offsets) => {
      counts.unreadable += offsets;
    },
  );
  return counts;
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

/** @throws InspectError */
export async function evaluate(
  inspection: Inspection,
  request: EvaluationRequest,
  onProgress: (state: ReadProgress) => void = () => {},
  maxHeldBytes = MAX_HELD_BYTES,
): Promise<EvaluationReport> {
  const { fromMs, toMs = null } = request;
  const { name, topics } = inspection.pipeline;
  const names = new FirstNames(MAX_CLASSES, ({ length }) => length <= MAX_NAME);
  const nameOf = (result: string): ClassName => names.take(result) ?? null;
  const reference = await readReference(inspection, request, nameOf, onProgress, maxHeldBytes);
  const cells = new Map<string, Cell & { count: number; readonly examples: string[] }>();
  let [evaluated, agreeing, withoutExpected, withoutResult] = [0, 0, 0, 0];
  const add = (decided: Decided) => {
    const { result, eventId } = decided;
    const expected = reference ? reference.resultOf(decided) : decided.expected;
    if (expected === undefined) withoutExpected++;
    else if (result === undefined) withoutResult++;
    else {
      const named = { expected: expected && nameOf(expected), result: nameOf(result) };
      const key = JSON.stringify(named);
      const cell = cells.get(key) ?? { ...named, count: 0, examples: [] };
      cells.set(key, cell);
      cell.count++;
      evaluated++;
      if (expected === result) agreeing++;
      else if (cell.examples.push(eventId) > MAX_EXAMPLES) cell.examples.shift();
      reference?.pair(decided, expected);
    }
  };
  const counts = await readDecided(inspection, request, add, onProgress);
  const matrix = [...cells.values()].sort((a, b) => b.count - a.count);
  return {
    ...{ pipeline: name, topic: topics.decisions, fromMs, toMs, ...counts },
    ...{ withoutExpected, withoutResult },
    ...{ evaluated, agreeing, agreement: share(agreeing, evaluated) },
    ...{ classes: figuresOf(matrix), matrix },
    ...(reference && { against: reference.report() }),
  };
}

/**
 * Reads the other pipeline's results, of any type and label. Pairs are matched by the event's
 * coordinates and not by its id, because the id contains the number of resets of one group. If an
 * event has several results, the last one read counts.
 * @throws InspectError
 */
async function readReference(
  inspection: Inspection,
  { fromMs, toMs, against: pipeline }: EvaluationRequest,
  nameOf: (result: string) => ClassName,
  onProgress: (state: ReadProgress) => void,
  maxHeldBytes: number,
) {
  if (pipeline === undefined) return undefined;
  const { name, topics } = inspection.pipeline;
  const { source, decisions } = pipeline.topics;
  if (source !== topics.source || decisions === topics.decisions)
    throw new InspectError(
      'usage',
      `${name} and ${pipeline.name} cannot be compared: --against requires a pipeline with the same source topic and another output topic`,
    );
  const events = new Map<ClassName, CoordinateSet>();
  const paired = new CoordinateSet();
  let [withoutResult, withExpected, correct, evaluatedCorrect] = [0, 0, 0, 0];
  const add = ({ partition, offset, result }: Decided) => {
    if (result === undefined) withoutResult++;
    else {
      const own = nameOf(result);
      for (const set of events.values()) set.delete(partition, offset);
      const set = events.get(own) ?? new CoordinateSet();
      events.set(own, set);
      set.add(partition, offset);
    }
  };
  const sumOf = (member: 'size' | 'heldBytes') =>
    [...events.values()].reduce((sum, set) => sum + set[member], 0);
  const check = (state: ReadProgress) => {
    if (sumOf('heldBytes') > maxHeldBytes)
      throw new InspectError(
        'usage',
        `the decisions of ${pipeline.name} exceed the memory for comparisons: choose a shorter time with --from and --to, or evaluate the larger pipeline --against the smaller one`,
      );
    onProgress(state);
  };
  const counts = await readDecided({ ...inspection, pipeline }, { fromMs, toMs }, add, check);
  return {
    resultOf({ partition, offset }: SourceCoordinate): ClassName | undefined {
      for (const [own, set] of events) if (set.has(partition, offset)) return own;
      return undefined;
    },
    pair({ partition, offset, result, expected }: Decided, own: ClassName): void {
      paired.add(partition, offset);
      if (expected === undefined) return;
      withExpected++;
      if (own === expected) correct++;
      if (result === expected) evaluatedCorrect++;
    },
    report: (): AgainstReport => ({
      ...{ pipeline: pipeline.name, topic: decisions, unpaired: sumOf('size') - paired.size },
      ...{ withoutResult, ...counts, withExpected, correct, evaluatedCorrect },
    }),
  };
}

/** Checks every member's type, because another application may have written the value. */
const applies = (labels: unknown, name: string): boolean =>
  Array.isArray(labels) &&
  labels.some((label) => isObject(label) && label.applied === true && label.name === name);

function figuresOf(matrix: readonly Cell[]): ClassFigures[] {
  const names = new Set(matrix.flatMap(({ expected, result }) => [expected, result]));
  const sum = (counts: (cell: Cell) => boolean) =>
    matrix.reduce((total, cell) => total + (counts(cell) ? cell.count : 0), 0);
  return Array.from(names, (name) => {
    const support = sum(({ expected }) => expected === name);
    const decided = sum(({ result }) => result === name);
    // Not meaningful for null, because its results may differ.
    const correct = sum(({ expected, result }) => expected === name && result === name);
    const shares = [
      [correct, decided],
      [correct, support],
      [2 * correct, support + decided],
    ] as const;
    const [precision = null, recall = null, f1 = null] =
      name === null ? [] : shares.map(([part, whole]) => share(part, whole));
    return { name, support, decided, precision, recall, f1 };
  }).sort((a, b) => b.support - a.support || b.decided - a.decided);
}

const share = (part: number, whole: number): number | null => (whole === 0 ? null : part / whole);
