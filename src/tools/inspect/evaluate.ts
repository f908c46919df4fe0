/** Evaluation of published decisions: their results are compared with the expected results of their events. */
import { FirstNames } from '../../../packages/client/src/base/counts.ts';
import { isObject } from '../../../packages/client/src/base/json/json-values.ts';
import { InspectError, type Inspection } from './context.ts';
import { decisionMembers } from './decision-value.ts';
import { type ReadProgress, rangesBetween, scanTerminals } from './outputs.ts';

/** Most results with a row of their own, and their longest name. The others share one row. */
export const MAX_CLASSES = 50;
const MAX_NAME = 200;

export interface EvaluationRequest {
  /** Time of publication: the first, and the end (not included; default: the end of the topic), ms. */
  readonly fromMs: number;
  readonly toMs?: number | undefined;
  /** Only decisions of this content type. */
  readonly type?: string | undefined;
  /** Only decisions to which this label applies. */
  readonly label?: string | undefined;
}

/** Result; null: the results beyond the limit, together. */
export type ClassName = string | null;

/** A figure that is undefined, such as a precision without decisions, is null. */
export interface ClassFigures {
  readonly name: ClassName;
  /** Decisions with this expected result, and decisions with this result. */
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
}

/** Decisions of the range and of the chosen type and label that have no part in the figures. */
export interface EvaluationCounts {
  /** Status ERROR. */
  errors: number;
  withoutExpected: number;
  /** With an expected result, status SUCCESS and no result. */
  withoutResult: number;
  /** Not readable, or not a decision of this connector. */
  unreadable: number;
}

export interface EvaluationReport extends EvaluationCounts {
  readonly topic: string;
  readonly fromMs: number;
  readonly toMs: number | null;
  readonly evaluated: number;
  readonly agreeing: number;
  readonly agreement: number | null;
  /** By support, the largest first. */
  readonly classes: readonly ClassFigures[];
  /** Cells above 0 of the confusion matrix, the largest first. */
  readonly matrix: readonly Cell[];
}

/** Reads committed records only, up to the stable ends at the beginning. @throws InspectError */
export async function evaluate(
  inspection: Inspection,
  { fromMs, toMs, type, label }: EvaluationRequest,
  onProgress: (state: ReadProgress) => void = () => {},
): Promise<EvaluationReport> {
  const { name, kind, topics } = inspection.pipeline;
  if (kind !== 'review')
    throw new InspectError(
      'usage',
      `pipeline ${name} is of kind ${kind}: only the decisions of reviews have expected results`,
    );
  const names = new FirstNames(MAX_CLASSES, ({ length }) => length <= MAX_NAME);
  const cells = new Map<string, Cell>();
  const counts = { errors: 0, withoutExpected: 0, withoutResult: 0, unreadable: 0 };
  let [evaluated, agreeing] = [0, 0];
  const add = (members: unknown): undefined => {
    const { status, result, expected_result, labels, batch } = isObject(members) ? members : {};
    if ((status !== 'SUCCESS' && status !== 'ERROR') || !isObject(batch)) counts.unreadable++;
    else if (type !== undefined && batch.type !== type) return;
    else if (label !== undefined && !applies(labels, label)) return;
    else if (status === 'ERROR') counts.errors++;
    else if (!isText(expected_result)) counts.withoutExpected++;
    else if (!isText(result)) counts.withoutResult++;
    else {
      const cell = {
        expected: names.take(expected_result) ?? null,
        result: names.take(result) ?? null,
      };
      const key = JSON.stringify(cell);
      cells.set(key, { ...cell, count: (cells.get(key)?.count ?? 0) + 1 });
      evaluated++;
      if (expected_result === result) agreeing++;
    }
  };
  const ranges = await rangesBetween(inspection, topics.decisions, fromMs, toMs);
  await scanTerminals(
    inspection,
    ranges.map((range) => ({ ...range, kind: 'decision', start: range.from })),
    ({ record }) => {
      const members = decisionMembers(record.value, inspection.readFramed);
      return members instanceof Promise ? members.then(add) : add(members);
    },
    onProgress,
    (offsets) => {
      counts.unreadable += offsets;
    },
  );
  const matrix = [...cells.values()].sort((a, b) => b.count - a.count);
  return {
    ...{ topic: topics.decisions, fromMs, toMs: toMs ?? null, ...counts },
    ...{ evaluated, agreeing, agreement: share(agreeing, evaluated) },
    ...{ classes: figuresOf(matrix), matrix },
  };
}

/** An empty text counts as missing. */
const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';

/** Another application may have written anything. */
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
    // Results beyond the limit are equal in name alone.
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
