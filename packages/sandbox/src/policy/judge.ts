/**
 * Policy engine. Every rule is evaluated; those that match apply their label and add their score.
 * The first matching rule with `error` or `result` decides; otherwise the highest threshold that
 * the score reaches; otherwise the default.
 */
import type { Label } from '../../../client/src/service/contract.ts';
import type { ReviewPolicy, TextCondition } from './schema.ts';

export interface Verdict {
  readonly status: 'SUCCESS' | 'ERROR';
  /** Empty when the status is ERROR. */
  readonly result: string;
  /** JSON text of a list of labels, empty when the status is ERROR. */
  readonly labels: string;
  /** The batch that holds this row cannot be reviewed. */
  readonly failsBatch?: true;
}

/** Judges one row, given as its cells in the order of the header. */
export type Judge = (cells: readonly string[]) => Verdict;

const ROW_ERROR: Verdict = { status: 'ERROR', result: '', labels: '' };
const BATCH_ERROR: Verdict = { ...ROW_ERROR, failsBatch: true };

/** Judge for files of one content type with this header: columns are found once. */
export function judgeFor(
  policy: ReviewPolicy,
  type: string,
  header: readonly string[],
  contentColumn: number,
): Judge {
  const rules = policy.rules
    .filter(({ when }) => when.type?.includes(type) ?? true)
    .map((rule) => {
      const fits = textTest(rule.when);
      const metadata = Object.entries(rule.when.metadata ?? {}).map(([name, expected]) => {
        return { column: header.indexOf(name), expected: String(expected) };
      });
      const applies = (cells: readonly string[]) =>
        metadata.every(({ column, expected }) => cells[column] === expected) &&
        fits(cells[contentColumn] ?? '');
      const labelText = (label: Label) => JSON.stringify(label);
      const name = rule.label ?? '';
      return {
        ...rule,
        applies,
        applied: labelText({ name, applied: true, explanation: rule.explanation }),
        notApplied: labelText({ name, applied: false, explanation: rule.otherwise }),
      };
    });
  const thresholds = policy.thresholds.toSorted((a, b) => b.score - a.score);

  return (cells) => {
    let score = 0;
    let result: string | undefined;
    const labels: string[] = [];
    for (const rule of rules) {
      const applies = rule.applies(cells);
      if (applies && rule.failsBatch) return BATCH_ERROR;
      if (applies && rule.error && result === undefined) return ROW_ERROR;
      if (applies) {
        score += rule.score;
        result ??= rule.result;
      }
      if (rule.label !== undefined) labels.push(applies ? rule.applied : rule.notApplied);
    }
    result ??= thresholds.find((threshold) => score >= threshold.score)?.result ?? policy.default;
    return { status: 'SUCCESS', result, labels: `[${labels}]` };
  };
}

/** Test of the conditions on a text: each list that is given must have an entry that fits. */
export function textTest({ contains, matches }: TextCondition): (text: string) => boolean {
  const literals = contains?.map((text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  const expressions = [literals, matches].flatMap((sources) =>
    sources === undefined
      ? []
      : new RegExp(sources.map((source) => `(?:${source})`).join('|'), 'im'),
  );
  return (text) => expressions.every((expression) => expression.test(text));
}
