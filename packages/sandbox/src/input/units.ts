/** Values with their unit, as the policy file writes them: `250ms`, `1h`, `8MiB`. */
import * as v from 'valibot';

function quantity(units: Readonly<Record<string, number>>, example: string) {
  const names = Object.keys(units);
  const error = `0, or a number with one of the units ${names.join(', ')} (such as ${example})`;
  const shape = new RegExp(`^(\\d+(?:\\.\\d+)?)(${names.join('|')})$`);
  return v.pipe(
    v.union([v.literal(0), v.literal('0'), v.pipe(v.string(), v.regex(shape, error))], error),
    v.transform((text): number => {
      const [, amount, unit = ''] = shape.exec(String(text)) ?? [];
      return Math.round(Number(amount ?? 0) * (units[unit] ?? 0));
    }),
  );
}

/** A length of time; milliseconds once parsed. */
export const duration = quantity(
  { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 },
  '250ms or 1h',
);

/** A size; bytes once parsed. */
export const byteSize = quantity({ B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 }, '8MiB');
