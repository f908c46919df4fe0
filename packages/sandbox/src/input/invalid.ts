/** Validation errors: all of them at once, each with its place, what was found and what is allowed. */
import * as v from 'valibot';

export class InvalidSandboxInput extends Error {
  override readonly name = 'InvalidSandboxInput';
}

/** @throws InvalidSandboxInput with one line for each problem; `source` names what was read. */
export function validate<Output>(
  schema: v.GenericSchema<unknown, Output>,
  input: unknown,
  source: string,
): Output {
  const { success, output, issues } = v.safeParse(schema, input, { message: allowed });
  if (success) return output;
  const lines = issues.map(({ type, path = [], message }) => {
    const isUnknown = type === 'never';
    const steps = path.map(({ key }) =>
      typeof key === 'number' || (/[^\w$]/.test(String(key)) && !isUnknown)
        ? `[${JSON.stringify(key)}]`
        : `.${key}`,
    );
    const place = steps.join('').replace(/^\./, '') || '(whole document)';
    const { value } = path.at(-1) ?? { value: input };
    return `  ${place}: ${isUnknown ? message : `found ${shown(value)}; allowed: ${message}`}`;
  });
  throw new InvalidSandboxInput(`${source} is not valid:\n${lines.join('\n')}`);
}

/** Allowed values of a setting, unless its schema has a text of its own. */
function allowed({ type, requirement }: v.BaseIssue<unknown>): string {
  if (type === 'string') return 'text';
  if (type === 'boolean') return 'true or false';
  if (type === 'array') return 'a list';
  return `${requirement} or ${type.startsWith('min') ? 'more' : 'less'}`;
}

function shown(value: unknown): string {
  if (value === undefined) return 'nothing';
  const text = JSON.stringify(value) ?? typeof value;
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
