/** The policy file: how the sandbox behaves and judges. docs/sandbox.md describes every setting. */
import { readFile } from 'node:fs/promises';
import { parseDocument } from 'yaml';
import { z } from 'zod';
import { faultList } from '../faults/schema.ts';
import { InvalidSandboxInput, validate } from './invalid.ts';
import { byteSize, duration } from './units.ts';

/** What a column of the result file holds (service-interface.md 2.3). */
export const RESULT_FIELDS = [
  'content',
  'status',
  'result',
  'expected',
  'labels',
  'metadata',
] as const;
export type ResultField = (typeof RESULT_FIELDS)[number];

const text = z.string().min(1, { error: 'text that is not empty' });

/** One value or a list of them; a list once parsed. */
const oneOrMore = <Item extends z.ZodType>(item: Item, what: string) =>
  z.union([item.transform((single) => [single]), z.array(item).min(1)], {
    error: `${what}, or a list of at least one`,
  });

const pattern = text.refine(compiles);

const textCondition = z.strictObject({
  type: oneOrMore(text, 'a type').optional(),
  contains: oneOrMore(text, 'a text').optional(),
  matches: oneOrMore(pattern, 'a JavaScript regular expression').optional(),
});

const condition = textCondition.extend({
  metadata: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).optional(),
});

const rule = z.strictObject({
  when: condition,
  label: text.optional(),
  explanation: z.string().default('The rule matches.'),
  otherwise: z.string().default('The rule does not match.'),
  score: z.number().default(0),
  result: text.optional(),
  error: z.boolean().default(false),
  /** The whole batch that holds such a row ends in ERROR. */
  failsBatch: z.boolean().default(false),
});

const service = z.strictObject({
  name: text.default('Sandbox'),
  types: z.array(text).min(1).optional(),
  policyId: text.default('policy-sandbox'),
  teamId: text.default('team-sandbox'),
  teamName: text.default('Sandbox Team'),
});

const timing = z
  .strictObject({
    uploadUrlValidity: duration.prefault('1h'),
    downloadUrlValidity: duration.prefault('1h'),
    storageEventDelay: duration.prefault(0),
    reviewTime: duration.prefault(0),
    importTime: duration.prefault(0),
    decisionTime: duration.prefault(0),
  })
  .transform((given) => ({
    uploadUrlValidityMs: given.uploadUrlValidity,
    downloadUrlValidityMs: given.downloadUrlValidity,
    storageEventDelayMs: given.storageEventDelay,
    reviewTimeMs: given.reviewTime,
    importTimeMs: given.importTime,
    decisionTimeMs: given.decisionTime,
  }));

const storage = z.strictObject({ maxUploadBytes: byteSize.prefault('5GiB') });

const results = z.strictObject({
  columns: z
    .array(z.enum(RESULT_FIELDS))
    .refine(isPermutation, { error: `each of ${RESULT_FIELDS.join(', ')} once, in any order` })
    .default([...RESULT_FIELDS]),
});

const review = z.strictObject({
  default: text.default('approved'),
  thresholds: z.array(z.strictObject({ score: z.number(), result: text })).default([]),
  rules: z
    .array(rule)
    .refine(hasUniqueLabels, { error: 'each label in one rule only' })
    .default([]),
});

const imports = z.strictObject({
  types: z.array(text).min(1).optional(),
  /** An import with a record that one of these fits ends in FAILED. */
  fail: z.array(textCondition).default([]),
});

export const policySchema = z.strictObject({
  service: service.prefault({}),
  timing: timing.prefault({}),
  storage: storage.prefault({}),
  results: results.prefault({}),
  review: review.prefault({}),
  imports: imports.prefault({}),
  faults: faultList.default([]),
});

/** A policy as it is written: everything has a default. */
export type PolicyInput = z.input<typeof policySchema>;
/** A policy as it is used: defaults filled in, durations in ms, sizes in bytes. */
export type Policy = z.output<typeof policySchema>;
export type ReviewPolicy = Policy['review'];
export type TextCondition = z.output<typeof textCondition>;
export type Rule = ReviewPolicy['rules'][number];

/** @throws InvalidSandboxInput naming every wrong setting. */
export function parsePolicy(input: unknown, source = 'sandbox policy'): Policy {
  return validate(policySchema, input ?? {}, source);
}

/**
 * Reads and checks a policy file, for `startSandbox({ policy })`.
 * @throws InvalidSandboxInput when it cannot be read, is not YAML, or has a wrong setting.
 */
export async function readPolicyFile(path: string): Promise<PolicyInput> {
  const yaml = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw new InvalidSandboxInput(
      `sandbox policy ${path} cannot be read; give the path of a YAML file`,
      { cause },
    );
  });
  const document = parseDocument(yaml);
  const [problem] = document.errors;
  if (problem !== undefined)
    throw new InvalidSandboxInput(`sandbox policy ${path} is not YAML: ${problem.message}`);
  const input: PolicyInput = document.toJS() ?? {};
  parsePolicy(input, `sandbox policy ${path}`);
  return input;
}

function compiles(source: string): boolean {
  try {
    new RegExp(source, 'im');
    return true;
  } catch {
    return false;
  }
}

function isPermutation(columns: readonly ResultField[]): boolean {
  return columns.length === RESULT_FIELDS.length && new Set(columns).size === RESULT_FIELDS.length;
}

function hasUniqueLabels(rules: readonly { readonly label?: string | undefined }[]): boolean {
  const labels = rules.flatMap(({ label }) => label ?? []);
  return new Set(labels).size === labels.length;
}
