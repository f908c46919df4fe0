/** Values with their unit, as configuration writes them: `250ms`, `30s`, `5m`, `64KiB`, `8MiB`. */

/** Why a value is not taken; the hint says what to write instead. */
export class Refusal {
  readonly hint: string;
  constructor(hint: string) {
    this.hint = hint;
  }
}

type Units = Readonly<Record<string, number>>;

const DURATIONS: Units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const SIZES: Units = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };

/** Milliseconds of a text such as `30s`. A number without unit is refused: nobody can see whether it is seconds. */
export function parseDuration(raw: unknown): number | Refusal {
  return parse(
    raw,
    DURATIONS,
    (amount) => `a length of time has a unit: write ${amount}ms, ${amount}s or ${amount}m`,
  );
}

/** Bytes of a text such as `8MiB`. */
export function parseBytes(raw: unknown): number | Refusal {
  return parse(
    raw,
    SIZES,
    (amount) => `a size has a unit: write ${amount}B, ${amount}KiB or ${amount}MiB`,
  );
}

/** The shortest exact spelling: 90_000 is `90s`, 60_000 is `1m`. `ms` must be a whole number, 0 or more. */
export function formatDuration(ms: number): string {
  return format(ms, DURATIONS);
}

/** The shortest exact spelling: 8_388_608 is `8MiB`. `bytes` must be a whole number, 0 or more. */
export function formatBytes(bytes: number): string {
  return format(bytes, SIZES);
}

function parse(
  raw: unknown,
  units: Units,
  withoutUnit: (amount: string) => string,
): number | Refusal {
  if (typeof raw === 'number') return new Refusal(withoutUnit(String(raw)));
  if (typeof raw !== 'string') return new Refusal('');
  const [, amount, unit] = /^\s*(\d{1,15}(?:\.\d{1,6})?)\s*([A-Za-z]*)\s*$/.exec(raw) ?? [];
  if (amount === undefined || unit === undefined) return new Refusal('');
  if (unit === '') return new Refusal(withoutUnit(amount));
  const factor = Object.hasOwn(units, unit) ? units[unit] : undefined;
  if (factor === undefined) return new Refusal(unknownUnit(unit, units));
  const value = Number(amount) * factor;
  if (!Number.isSafeInteger(value))
    return new Refusal(`it must come to a whole number of ${Object.keys(units)[0]}`);
  return value;
}

function unknownUnit(unit: string, units: Units): string {
  const known = Object.keys(units);
  const close = known.find(
    (name) =>
      name.toLowerCase() === unit.toLowerCase() ||
      name === unit.replace(/^([KMG])i?[Bb]?$/i, (_, letter) => `${letter.toUpperCase()}iB`),
  );
  return close === undefined ? '' : `the unit is written ${close}`;
}

function format(value: number, units: Units): string {
  const entries = Object.entries(units).reverse();
  const [unit, factor] = entries.find(([, factor]) => value !== 0 && value % factor === 0) ??
    entries[entries.length - 1] ?? ['', 1];
  return `${value / factor}${unit}`;
}
