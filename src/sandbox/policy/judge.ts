/**
 * The policy engine. Every rule is asked; those that match apply their label and add their score. The first matching
 * rule with `error` or `result` decides; otherwise the highest threshold that the score reaches; otherwise the default.
 */
import type { Label } from '../../service/contract.ts';
import type { ReviewPolicy, Rule, TextCondition } from './schema.ts';

export interface Verdict {
  readonly status: 'SUCCESS' | 'ERROR';
  /** Empty when the status is ERROR. */
  readonly result: string;
  /** JSON text of a list of labels (service-interface.md 2.6), empty when the status is ERROR. */
  readonly labels: string;
  /** The batch that holds this row cannot be reviewed. */
  readonly failsBatch?: true;
}

/** Judges one row, given as its cells in the order of the header. */
export type Judge = (cells: readonly string[]) => Verdict;

type Test = (cells: readonly string[]) => boolean;

const ROW_ERROR: Verdict = { status: 'ERROR', result: '', labels: '' };
const BATCH_ERROR: Verdict = { ...ROW_ERROR, failsBatch: true };

/** A judge for files of one content type with this header: rules for other types drop out, columns are found once. */
export function judgeFor(
  policy: ReviewPolicy,
  type: string,
  header: readonly string[],
  contentColumn: number,
): Judge {
  const rules = policy.rules
    .filter(({ when }) => when.type?.includes(type) ?? true)
    .map((rule) => ({
      ...rule,
      test: testOf(rule, header, contentColumn),
      labelText: labelTexts(rule),
    }));
  const thresholds = policy.thresholds.toSorted((a, b) => b.score - a.score);

  return (cells) => {
    let score = 0;
    let decided: string | undefined;
    let labels = '';
    for (const rule of rules) {
      const applied = rule.test(cells);
      if (applied && rule.failsBatch) return BATCH_ERROR;
      if (applied && rule.error && decided === undefined) return ROW_ERROR;
      if (applied) {
        score += rule.score;
        decided ??= rule.result;
      }
      if (rule.labelText)
        labels += `${labels && ','}${applied ? rule.labelText.applied : rule.labelText.notApplied}`;
    }
    decided ??= thresholds.find((threshold) => score >= threshold.score)?.result ?? policy.default;
    return { status: 'SUCCESS', result: decided, labels: `[${labels}]` };
  };
}

/** All kinds of condition that a rule has must hold; within one kind (a list), any entry will do. */
function testOf({ when }: Rule, header: readonly string[], contentColumn: number): Test {
  const tests: Test[] = [];
  for (const [name, expected] of Object.entries(when.metadata ?? {})) {
    const column = header.indexOf(name);
    tests.push((cells) => cells[column] === String(expected));
  }
  for (const test of textTests(when)) tests.push((cells) => test(cells[contentColumn] ?? ''));
  return (cells) => tests.every((test) => test(cells));
}

/** The conditions on a text; all must hold. */
export function textTests({
  contains = [],
  matches = [],
}: TextCondition): ((text: string) => boolean)[] {
  const expressions = [anyOf(contains.map(literal)), anyOf(matches)].filter(
    (expression) => expression !== undefined,
  );
  return expressions.map((expression) => (text) => expression.test(text));
}

function literal(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

function anyOf(sources: readonly string[]): RegExp | undefined {
  if (sources.length === 0) return undefined;
  return new RegExp(sources.map((source) => `(?:${source})`).join('|'), 'im');
}

function labelTexts(rule: Rule) {
  if (rule.label === undefined) return undefined;
  const applied: Label = { name: rule.label, applied: true, explanation: rule.explanation };
  const notApplied: Label = { name: rule.label, applied: false, explanation: rule.otherwise };
  return { applied: JSON.stringify(applied), notApplied: JSON.stringify(notApplied) };
}
