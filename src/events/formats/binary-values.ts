/** Binary values as JSON: numbers with all their digits, dates and times in ISO 8601. */
import { MalformedError } from '../../../packages/client/src/base/varint.ts';

/** Returns a double as JSON. NaN and infinities become strings, as in Protobuf's JSON. */
export function doubleJson(value: number): string {
  if (Object.is(value, -0)) return '-0.0';
  return Number.isFinite(value) ? String(value) : `"${value}"`;
}

/** Returns the shortest decimal that only this float rounds to: 0.1, not 0.10000000149011612. */
export function floatJson(value: number): string {
  if (value === 0 || !Number.isFinite(value)) return doubleJson(value);
  // Six digits suffice for every float that has such a short number, except for subnormal floats.
  let digits = Math.abs(value) < MIN_NORMAL_FLOAT ? 1 : 6;
  let found = Number(value.toPrecision(digits));
  while (Math.fround(found) !== value) found = Number(value.toPrecision(++digits));
  return String(found);
}

const MIN_NORMAL_FLOAT = 2 ** -126;

/** Allows 616 digits. Printing takes quadratic time, so a decimal of megabytes would take minutes. */
const MAX_DECIMAL_BYTES = 256;
export const MAX_SCALE = 2_466;

/**
 * Returns a decimal with all digits of its scale: 10.00.
 * @param bytes unscaled value, a big-endian integer in two's complement
 * @throws MalformedError if bytes or scale exceed the limits
 */
export function decimalJson(bytes: Uint8Array, scale: number): string {
  if (bytes.length > MAX_DECIMAL_BYTES)
    throw new MalformedError(`a decimal has more than ${MAX_DECIMAL_BYTES} bytes`);
  if (!(Math.abs(scale) <= MAX_SCALE))
    throw new MalformedError('the scale of a decimal is out of range');

  const hex = Buffer.from(bytes).toString('hex');
  const unscaled = BigInt.asIntN(bytes.length * 8, BigInt(`0x0${hex}`));
  if (scale <= 0) return unscaled === 0n ? '0' : `${unscaled}${'0'.repeat(-scale)}`;
  const digits = (unscaled < 0n ? -unscaled : unscaled).toString().padStart(scale + 1, '0');
  const sign = unscaled < 0n ? '-' : '';
  return `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

// Dates and times for all 64-bit values. JavaScript's Date ends in the year 275760.
const DAY_SECONDS = 86_400;
/** Number of days after which the calendar repeats: 400 years. */
const ERA_DAYS = 146_097;

/** Returns a date. @param day days since 1970-01-01 */
export function dateText(day: number): string {
  const eras = Math.floor(day / ERA_DAYS);
  const date = new Date((day - eras * ERA_DAYS) * DAY_SECONDS * 1_000);
  const year = yearText(date.getUTCFullYear() + 400 * eras);
  return `${year}-${pad(date.getUTCMonth() + 1, 2)}-${pad(date.getUTCDate(), 2)}`;
}

/** Returns a year as in ISO 8601: four digits, or a sign and at least six digits outside 0 to 9999. */
function yearText(year: number): string {
  if (year >= 0 && year <= 9_999) return pad(year, 4);
  return `${year < 0 ? '-' : '+'}${pad(Math.abs(year), 6)}`;
}

/**
 * Returns a time of day.
 * @param units time since midnight
 * @param digits decimal digits of a second that one unit stands for: 3 for milliseconds
 * @throws MalformedError for more than a day
 */
export function timeOfDayText(units: number | bigint, digits: number): string {
  if (!(units >= 0 && units < DAY_SECONDS * 10 ** digits))
    throw new MalformedError('a time of day is out of range');
  return timeText(Number(units), digits);
}

function timeText(units: number, digits: number): string {
  const perSecond = 10 ** digits;
  const seconds = Math.floor(units / perSecond);
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  const clock = `${pad(hours, 2)}:${pad(minutes % 60, 2)}:${pad(seconds % 60, 2)}`;
  return digits === 0 ? clock : `${clock}.${pad(units % perSecond, digits)}`;
}

/** @param units time since the epoch, in UTC or local time @param digits as for `timeOfDayText` */
export function timestampText(units: number | bigint, digits: number): string {
  if (typeof units === 'number') {
    const perDay = DAY_SECONDS * 10 ** digits;
    const day = Math.floor(units / perDay);
    return `${dateText(day)}T${timeText(units - day * perDay, digits)}`;
  }
  const perDay = BigInt(DAY_SECONDS) * 10n ** BigInt(digits);
  const total = BigInt(units);
  const rest = ((total % perDay) + perDay) % perDay;
  return `${dateText(Number((total - rest) / perDay))}T${timeText(Number(rest), digits)}`;
}

function pad(value: number, digits: number): string {
  return String(value).padStart(digits, '0');
}
