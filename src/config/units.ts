/** Values with a unit, as written in a configuration: `250ms`, `30s`, `5m`, `64KiB`, `8MiB`. */
import { orUndefined } from '../../packages/client/src/base/result.ts';
import { OptionRefusal } from './option.ts';

type Units = Readonly<Record<string, number>>;

export const DURATIONS: Units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
export const SIZES: Units = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };

/** Returns the milliseconds of a string such as `30s`, or undefined if it is not a duration. */
export const durationOf = (text: string): number | undefined =>
  orUndefined(() => parseDuration(text));

/** Returns the milliseconds of a string such as `30s`. @throws OptionRefusal, also if the unit is missing */
export const parseDuration = (raw: unknown): number => parse(raw, DURATIONS);
/** Returns the bytes of a string such as `8MiB`. @throws OptionRefusal, also if the unit is missing */
export const parseBytes = (raw: unknown): number => parse(raw, SIZES);
/** Returns the shortest exact form: 90_000 is `90s`, 60_000 is `1m`. `ms` is a whole number, 0 or more. */
export const formatDuration = (ms: number): string => format(ms, DURATIONS);
/** Returns the shortest exact form: 8_388_608 is `8MiB`. `bytes` is a whole number, 0 or more. */
export const formatBytes = (bytes: number): string => format(bytes, SIZES);

function parse(raw: unknown, units: Units): number {
  const [, amount, unit = ''] =
    /^\s*(\d{1,15}(?:\.\d{1,6})?)\s*([A-Za-z]*)\s*$/.exec(
      typeof raw === 'string' || typeof raw === 'number' ? String(raw) : '',
    ) ?? [];
  if (amount === undefined) throw new OptionRefusal('');
  const known = Object.keys(units);
  if (unit === '') {
    const examples = known.slice(0, 3).map((one) => amount + one);
    throw new OptionRefusal(`the unit is missing: write ${examples.join(', ')}`);
  }
  const factor = Object.hasOwn(units, unit) ? units[unit] : undefined;
  if (factor === undefined) {
    // MB, Mb, M and mib all mean MiB.
    const meant = known.find((one) =>
      new RegExp(`^${one.replace(/iB$/, 'i?b?')}$`, 'i').test(unit),
    );
    throw new OptionRefusal(meant === undefined ? '' : `the unit must be written ${meant}`);
  }
  const value = Number(amount) * factor;
  if (!Number.isSafeInteger(value))
    throw new OptionRefusal(`it must be a whole number of ${known[0]}`);
  return value;
}

function format(value: number, units: Units): string {
  const [unit, factor] = Object.entries(units).findLast(
    ([, factor]) => value !== 0 && value % factor === 0,
  ) ?? [Object.keys(units)[0], 1];
  return `${value / factor}${unit}`;
}
