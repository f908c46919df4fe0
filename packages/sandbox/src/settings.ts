/** Value types and error messages of the policy file. */
import * as v from 'valibot';

export class InvalidSandboxInput extends Error {
  override readonly name = 'InvalidSandboxInput';
}

/** @throws InvalidSandboxInput with one line per problem; `source` names the input. */
export function validate<Output>(
  schema: v.GenericSchema<unknown, Output>,
  input: unknown,
  source: string,
): Output {
  const { success, output, issues } = v.safeParse(schema, input);
  if (success) return output;
  const lines = issues.map((issue) => {
    const unknown = issue.expected === 'never';
    const message = unknown ? 'unknown setting; remove it or correct its name' : issue.message;
    return `  ${v.getDotPath(issue) ?? '(whole document)'}: ${message}`;
  });
  throw new InvalidSandboxInput(`${source} is not valid:\n${lines.join('\n')}`);
}

/** Number with a unit, such as `250ms` or `1GiB`. */
function quantity(units: Readonly<Record<string, number>>, example: string) {
  const names = Object.keys(units).join('|');
  const shape = new RegExp(`^(\\d+(?:\\.\\d+)?)(${names})$`);
  const error = `must be 0, or a number with one of the units ${names} (such as ${example})`;
  return v.pipe(
    v.union([v.literal(0), v.pipe(v.string(), v.regex(shape, error))], error),
    v.transform((text): number => {
      const [, amount, unit = ''] = shape.exec(String(text)) ?? [];
      return Math.round(Number(amount ?? 0) * (units[unit] ?? 0));
    }),
  );
}

/** Duration, parsed to milliseconds. */
export const duration = quantity({ ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }, '250ms or 1h');

/** Size, parsed to bytes. */
export const byteSize = quantity({ B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 }, '8MiB');

export const share = v.pipe(v.number(), v.minValue(0), v.maxValue(1));
