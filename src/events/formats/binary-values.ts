/** Binary values as JSON: numbers with all their digits, dates and times. */
import { MalformedError } from '../../../packages/client/src/base/varint.ts';

/** Returns a double as JSON. NaN and infinities become strings, as in Protobuf's JSON. */
export function doubleJson(value: number): string {
  if (Object.is(value, -0)) return '-0.0';
  return Number.isFinite(value) ? String(value) : `"${value}"`;
}

/** Returns the shortest decimal that rounds to this float: 0.1, not 0.10000000149011612. */
export function floatJson(value: number): string {
  if (value === 0 || !Number.isFinite(value)) return doubleJson(value);
  // Rounding to six digits also finds every shorter number, except for subnormal floats.
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

// Dates and times in ISO 8601, in the range of JavaScript's dates: the years -271821 to 275760.
const DAY_SECONDS = 86_400;

/** Returns a date. @param day days since 1970-01-01 @throws MalformedError outside the range */
export function dateText(day: number): string {
  const date = new Date(day * DAY_SECONDS * 1_000);
  if (Number.isNaN(date.getTime())) throw new MalformedError('a date is out of range');
  const year = date.getUTCFullYear();
  if (year < 0 || year > 9_999) return date.toISOString().slice(0, -'T00:00:00.000Z'.length);
  // toISOString takes three times as long.
  const digits = String(year).padStart(4, '0');
  return `${digits}-${twoDigits(date.getUTCMonth() + 1)}-${twoDigits(date.getUTCDate())}`;
}

const twoDigits = (value: number): string => (value < 10 ? `0${value}` : String(value));

/**
 * Returns a time of day.
 * @param units time since midnight
 * @param digits decimal digits of a second that one unit stands for: 3 for milliseconds
 * @throws MalformedError for more than a day
 */
export function timeOfDayText(units: number | bigint, digits: number): string {
  if (!(units >= 0 && units < DAY_SECONDS * 10 ** digits))
    throw new MalformedError('a time of day is out of range');
  return timestampText(units, digits).slice(TIME_AT);
}

const TIME_AT = '1970-01-01T'.length;

/**
 * @param units time since the epoch, in UTC or local time
 * @param digits as for `timeOfDayText`
 * @throws MalformedError outside the range
 */
export function timestampText(units: number | bigint, digits: number): string {
  // Calculates with numbers where they are exact, because bigints take several times as long.
  const perSecond = 10 ** digits;
  const big = BigInt(perSecond);
  const part = typeof units === 'number' ? units % perSecond : Number(units % big);
  const rest = part < 0 ? part + perSecond : part;
  const seconds =
    typeof units === 'number' ? (units - rest) / perSecond : Number((units - BigInt(rest)) / big);
  const day = Math.floor(seconds / DAY_SECONDS);
  const second = seconds - day * DAY_SECONDS;
  const [hours, minutes] = [Math.floor(second / 3_600), Math.floor(second / 60) % 60];
  const time = `${twoDigits(hours)}:${twoDigits(minutes)}:${twoDigits(second % 60)}`;
  const text = `${dateText(day)}T${time}`;
  return digits === 0 ? text : `${text}.${String(rest).padStart(digits, '0')}`;
}
