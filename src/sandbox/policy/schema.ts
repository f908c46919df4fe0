/** Policy file: how the sandbox behaves and judges. docs/sandbox.md describes every setting. */
import { readFile } from 'node:fs/promises';
import { parseDocument } from 'yaml';
import { z } from 'zod';
import { faultList } from '../faults/schema.ts';
import { InvalidSandboxInput, validate } from '../input/invalid.ts';
import { byteSize, duration } from '../input/units.ts';

/** Contents of the columns of a result file. */
const RESULT_FIELDS = ['content', 'status', 'result', 'expected', 'labels', 'metadata'] as const;

const text = z.string().min(1, { error: 'text that is not empty' });
const texts = z.array(text).min(1);

/** One value or a list of them; a list once parsed. */
const oneOrMore = (item: z.ZodType<string>, what: string) =>
  z.union([item.transform((single) => [single]), z.array(item).min(1)], {
    error: `${what}, or a list of at least one`,
  });

const textCondition = z.strictObject({
  type: oneOrMore(text, 'a type').optional(),
  contains: oneOrMore(text, 'a text').optional(),
  matches: oneOrMore(text.refine(isRegExp), 'a JavaScript regular expression').optional(),
});

const scalar = z.union([z.string(), z.number(), z.boolean()], {
  error: 'text, a number, or true or false',
});

const rule = z.strictObject({
  when: textCondition.extend({ metadata: z.record(z.string(), scalar).optional() }),
  label: text.optional(),
  explanation: z.string().default('The rule matches.'),
  otherwise: z.string().default('The rule does not match.'),
  score: z.number().default(0),
  result: text.optional(),
  error: z.boolean().default(false),
  /** The whole batch that holds such a row ends in ERROR. */
  failsBatch: z.boolean().default(false),
});

const policySchema = z.strictObject({
  service: z
    .strictObject({
      name: text.default('Sandbox'),
      types: texts.optional(),
      policyId: text.default('policy-sandbox'),
      teamId: text.default('team-sandbox'),
      teamName: text.default('Sandbox Team'),
    })
    .prefault({}),
  timing: z
    .strictObject({
      uploadUrlValidity: duration.prefault('1h'),
      downloadUrlValidity: duration.prefault('1h'),
      storageEventDelay: duration.prefault(0),
      reviewTime: duration.prefault(0),
      importTime: duration.prefault(0),
      decisionTime: duration.prefault(0),
    })
    .prefault({}),
  storage: z.strictObject({ maxUploadBytes: byteSize.prefault('5GiB') }).prefault({}),
  results: z
    .strictObject({
      columns: z
        .array(z.enum(RESULT_FIELDS))
        .refine((columns) => columns.toSorted().join() === RESULT_FIELDS.toSorted().join(), {
          error: `each of ${RESULT_FIELDS.join(', ')} once, in any order`,
        })
        .default([...RESULT_FIELDS]),
    })
    .prefault({}),
  review: z
    .strictObject({
      default: text.default('approved'),
      thresholds: z.array(z.strictObject({ score: z.number(), result: text })).default([]),
      rules: z
        .array(rule)
        .refine(hasUniqueLabels, { error: 'each label in one rule only' })
        .default([]),
    })
    .prefault({}),
  imports: z
    .strictObject({
      types: texts.optional(),
      /** An import with a record that one of these fits ends in FAILED. */
      fail: z.array(textCondition).default([]),
    })
    .prefault({}),
  faults: faultList.default([]),
});

/** A policy as it is written: everything has a default. */
export type PolicyInput = z.input<typeof policySchema>;
/** A policy as it is used: defaults filled in, durations in ms, sizes in bytes. */
export type SandboxPolicy = z.output<typeof policySchema>;
export type ReviewPolicy = SandboxPolicy['review'];
export type TextCondition = z.output<typeof textCondition>;

/** @throws InvalidSandboxInput naming every wrong setting. */
export function parsePolicy(input: unknown, source = 'sandbox policy'): SandboxPolicy {
  return validate(policySchema, input ?? {}, source);
}

/**
 * Reads and checks a policy file, for `startSandbox({ policy })`.
 * @throws InvalidSandboxInput when it cannot be read, is not YAML, or has a wrong setting.
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
  try {
    new RegExp(source, 'im');
    return true;
  } catch {
    return false;
  }
}

function hasUniqueLabels(rules: readonly { readonly label?: string | undefined }[]): boolean {
  const labels = rules.flatMap(({ label }) => label ?? []);
  return new Set(labels).size === labels.length;
}
