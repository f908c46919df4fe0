/** Values with their unit, as the policy file spells them: `250ms`, `1h`, `8MiB`. */
import { z } from 'zod';

const MS_PER_UNIT: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};
const BYTES_PER_UNIT: Readonly<Record<string, number>> = {
  B: 1,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
};

function quantity(units: Readonly<Record<string, number>>, allowed: string) {
  const shape = new RegExp(`^(\\d+(?:\\.\\d+)?)(${Object.keys(units).join('|')})$`);
  return z
    .union([z.literal(0), z.string()], { error: allowed })
    .transform((text, context): number => {
      if (text === 0 || text === '0') return 0;
      const [, amount, unit] = shape.exec(text) ?? [];
      const factor = unit === undefined ? undefined : units[unit];
      if (factor !== undefined) return Math.round(Number(amount) * factor);
      context.addIssue({ code: 'custom', message: allowed });
      return z.NEVER;
    });
}

/** A length of time; milliseconds once parsed. */
export const duration = quantity(
  MS_PER_UNIT,
  '0, or a number with one of the units ms, s, m, h, d (such as 250ms or 1h)',
);

/** A size; bytes once parsed. */
export const byteSize = quantity(
  BYTES_PER_UNIT,
  '0, or a number with one of the units B, KiB, MiB, GiB (such as 8MiB)',
);
