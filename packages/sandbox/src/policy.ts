/** Policy file: the behaviour and the verdicts of the sandbox. packages/sandbox/README.md describes every setting. */
import { readFile } from 'node:fs/promises';
import * as v from 'valibot';
import { parseDocument } from 'yaml';
import { orUndefined } from '../../client/src/base/result.ts';
import type { Label } from '../../client/src/service/contract.ts';
import { requestFault, workFault } from './faults.ts';
import { byteSize, duration, InvalidSandboxInput, validate } from './settings.ts';

const text = v.pipe(v.string(), v.minLength(1, 'must not be empty'));
const regExp = v.pipe(text, v.check(isRegExp, 'must be a JavaScript regular expression'));

/** One value or a list of values, parsed to a list. */
const oneOrMore = (item: v.GenericSchema<string>) => {
  const list = v.union([v.pipe(v.array(item), v.minLength(1)), item]);
  return v.optional(
    v.pipe(
      list,
      v.transform((value) => [value].flat()),
    ),
  );
};
const conditions = {
  type: oneOrMore(text),
  contains: oneOrMore(text),
  matches: oneOrMore(regExp),
};
const scalar = v.union([v.string(), v.number(), v.boolean()]);

const rule = v.strictObject({
  when: v.strictObject({ ...conditions, metadata: v.optional(v.record(v.string(), scalar)) }),
  label: v.optional(text),
  explanation: v.optional(v.string(), 'The rule matches.'),
  /** Explanation of the label if the rule does not match. If absent, such a rule adds no label. */
  otherwise: v.optional(v.string()),
  score: v.optional(v.number(), 0),
  result: v.optional(text),
  error: v.optional(v.boolean(), false),
  /** True: a batch with a matching row ends in ERROR as a whole. */
  failsBatch: v.optional(v.boolean(), false),
});

/** Group of settings that are all optional. */
const section = <const Entries extends v.ObjectEntries>(entries: Entries) => {
  const schema = v.strictObject(entries);
  return v.optional(schema, {} as v.InferInput<typeof schema>);
};

const policySchema = v.strictObject({
  service: section({
    name: v.optional(text, 'Sandbox'),
    types: v.optional(v.pipe(v.array(text), v.minLength(1))),
  }),
  timing: section({
    uploadUrlValidity: v.optional(duration, '1h'),
    downloadUrlValidity: v.optional(duration, '1h'),
    storageEventDelay: v.optional(duration, 0),
    reviewTime: v.optional(duration, 0),
    importTime: v.optional(duration, 0),
  }),
  storage: section({ maxUploadBytes: v.optional(byteSize, '256MiB') }),
  review: section({
    default: v.optional(text, 'approved'),
    thresholds: v.optional(v.array(v.strictObject({ score: v.number(), result: text })), []),
    rules: v.optional(
      v.pipe(v.array(rule), v.check(hasUniqueLabels, 'must not use a label in more than one rule')),
      [],
    ),
  }),
  /** An import ends in FAILED if one of its records meets one of these conditions. */
  imports: section({ fail: v.optional(v.array(v.strictObject(conditions)), []) }),
  faults: v.optional(v.array(v.variant('action', [requestFault, workFault])), []),
});

/** Policy as written. Every setting has a default. */
export type PolicyInput = v.InferInput<typeof policySchema>;
/** Policy as used: with defaults filled in, durations in ms, sizes in bytes. */
export type SandboxPolicy = v.InferOutput<typeof policySchema>;
type ReviewPolicy = SandboxPolicy['review'];
type TextCondition = SandboxPolicy['imports']['fail'][number];

/** @throws InvalidSandboxInput naming every wrong setting. */
export function parsePolicy(input: unknown, source = 'sandbox policy'): SandboxPolicy {
  return validate(policySchema, input ?? {}, source);
}

/**
 * Reads and checks a policy file, for `startSandbox({ policy })`.
 * @throws InvalidSandboxInput if the file cannot be read, is not YAML, or has a wrong setting.
 */
export async function readPolicyFile(path: string): Promise<PolicyInput> {
  const source = `sandbox policy ${path}`;
  const yaml = await readFile(path, 'utf8').catch((cause: unknown) => {
    const message = `${source} cannot be read; give the path of a YAML file`;
    throw new InvalidSandboxInput(message, { cause });
  });
  const document = parseDocument(yaml);
  const [problem] = document.errors;
  if (problem !== undefined) {
    throw new InvalidSandboxInput(`${source} is not YAML: ${problem.message}`);
  }
  const input: PolicyInput = document.toJS() ?? {};
  parsePolicy(input, source);
  return input;
}

function isRegExp(source: string): boolean {
  return orUndefined(() => new RegExp(source, 'im')) !== undefined;
}

function hasUniqueLabels(rules: v.InferOutput<typeof rule>[]): boolean {
  const labels = rules.flatMap(({ label }) => label ?? []);
  return new Set(labels).size === labels.length;
}

export interface Verdict {
  readonly status: 'SUCCESS' | 'ERROR';
  /** Empty if the status is ERROR. */
  readonly result: string;
  /** JSON text of a list of labels; empty if the status is ERROR. */
  readonly labels: string;
  /** Set if the batch with this row cannot be reviewed. */
  readonly failsBatch?: true;
}

/** Judges one row, given as cells in the order of the header. */
export type Judge = (cells: readonly string[]) => Verdict;

const ROW_ERROR: Verdict = { status: 'ERROR', result: '', labels: '' };
const BATCH_ERROR: Verdict = { ...ROW_ERROR, failsBatch: true };

/**
 * Returns the judge for files of one content type with this header. Every rule is evaluated. Each
 * matching rule applies its label and adds its score. The result is decided by the first matching rule
 * with `error` or `result`, else by the highest threshold that the score reaches, else by the default.
 */
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
        notApplied:
          rule.otherwise && labelText({ name, applied: false, explanation: rule.otherwise }),
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
      const label = applies ? rule.applied : rule.notApplied;
      if (rule.label !== undefined && label !== undefined) labels.push(label);
    }
    result ??= thresholds.find((threshold) => score >= threshold.score)?.result ?? policy.default;
    return { status: 'SUCCESS', result, labels: `[${labels}]` };
  };
}

/** Returns a test of the conditions on a text: each given list must have a matching entry. */
export function textTest({ contains, matches }: TextCondition): (text: string) => boolean {
  const literals = contains?.map((text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  const expressions = [literals, matches].flatMap((sources) =>
    sources === undefined
      ? []
      : new RegExp(sources.map((source) => `(?:${source})`).join('|'), 'im'),
  );
  return (text) => expressions.every((expression) => expression.test(text));
}
