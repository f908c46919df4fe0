/** Validation errors that say where, what was found, and what is allowed: all of them at once. */
import type { z } from 'zod';

export class InvalidSandboxInput extends Error {
  override readonly name = 'InvalidSandboxInput';
}

type Issue = z.core.$ZodIssue;

/** @throws InvalidSandboxInput with one line for each problem in `input`; `source` says what was read. */
export function validate<Schema extends z.ZodType>(
  schema: Schema,
  input: unknown,
  source: string,
): z.output<Schema> {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  const lines = parsed.error.issues.flatMap((issue) => describe(issue, input));
  throw new InvalidSandboxInput(
    `${source} is not valid:\n${lines.map((line) => `  ${line}`).join('\n')}`,
  );
}

function describe(issue: Issue, input: unknown): string[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map(
      (key) => `${pathText([...issue.path, key])}: unknown setting; remove it or correct its name`,
    );
  }
  return [
    `${pathText(issue.path)}: found ${shown(valueAt(input, issue.path))}; allowed: ${allowed(issue)}`,
  ];
}

function allowed(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return NAMES[issue.expected] ?? issue.expected;
    case 'invalid_value':
      return issue.values.map(String).join(', ');
    case 'too_small':
      return `${issue.minimum} or more`;
    case 'too_big':
      return `${issue.maximum} or less`;
    case 'invalid_union':
      return unionText(issue);
    default:
      return issue.message;
  }
}

/** A union made with a text of its own says it best; otherwise what each branch wants. */
function unionText(issue: z.core.$ZodIssueInvalidUnion): string {
  if (issue.message !== 'Invalid input') return issue.message;
  const branches = issue.errors.flat().filter((branch) => branch.path.length === 0);
  return [...new Set(branches.map(allowed))].join(', or ');
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

function pathText(path: readonly PropertyKey[]): string {
  const text = path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`))
    .join('');
  return text.startsWith('.') ? text.slice(1) : text || '(whole document)';
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  let value = input;
  for (const step of path)
    value = value === null || value === undefined ? undefined : Reflect.get(Object(value), step);
  return value;
}

const LONGEST_SHOWN = 80;

function shown(value: unknown): string {
  if (value === undefined) return 'nothing';
  const text = JSON.stringify(value) ?? typeof value;
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text;
}
