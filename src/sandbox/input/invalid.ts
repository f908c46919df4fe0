/** Validation errors: all of them at once, each with its place, what was found and what is allowed. */
import { z } from 'zod';

export class InvalidSandboxInput extends Error {
  override readonly name = 'InvalidSandboxInput';
}

/** @throws InvalidSandboxInput with one line for each problem; `source` names what was read. */
export function validate<Schema extends z.ZodType>(
  schema: Schema,
  input: unknown,
  source: string,
): z.output<Schema> {
  const parsed = schema.safeParse(input, { error: allowed });
  if (parsed.success) return parsed.data;
  const lines = parsed.error.issues.flatMap((issue) => {
    const place = z.core.toDotPath(issue.path) || '(whole document)';
    if (issue.code === 'unrecognized_keys') {
      const hint = 'unknown setting; remove it or correct its name';
      const prefix = issue.path.length === 0 ? '' : `${place}.`;
      return issue.keys.map((key) => `${prefix}${key}: ${hint}`);
    }
    const found = issue.path.reduce<unknown>((value, step) => Object(value)[step], input);
    return [`${place}: found ${shown(found)}; allowed: ${issue.message}`];
  });
  const list = lines.map((line) => `  ${line}`).join('\n');
  throw new InvalidSandboxInput(`${source} is not valid:\n${list}`);
}

const NAMES: Readonly<Record<string, string>> = {
  string: 'text',
  array: 'a list',
  object: 'a mapping of settings',
  record: 'a mapping',
  int: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
};

/** Allowed values of a setting, unless its schema has a text of its own. */
function allowed(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'invalid_type') return NAMES[issue.expected] ?? issue.expected;
  if (issue.code === 'invalid_value') return issue.values.map(String).join(', ');
  if (issue.code === 'too_small') return `${issue.minimum} or more`;
  if (issue.code === 'too_big') return `${issue.maximum} or less`;
  return undefined;
}

function shown(value: unknown): string {
  if (value === undefined) return 'nothing';
  const text = JSON.stringify(value) ?? typeof value;
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
