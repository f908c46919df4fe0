/** Dates, times and durations as ISO 8601 text, for every value that 64 bits can hold: Date ends at the year 275760. */

const DAY_SECONDS = 86_400;

/** @param day days since 1970-01-01 */
export function dateText(day: number): string {
  // Howard Hinnant's civil_from_days: eras of 400 years, beginning on 0000-03-01.
  const shifted = day + 719_468;
  const era = Math.floor(shifted / 146_097);
  const dayOfEra = shifted - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1_460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) /
      365,
  );
  const dayOfYear =
    dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const shiftedMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const dayOfMonth = dayOfYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1;
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9;
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
  return `${yearText(year)}-${pad(month, 2)}-${pad(dayOfMonth, 2)}`;
}

/** Four digits, or what ISO 8601 has for other years: a sign and more digits. */
function yearText(year: number): string {
  if (year >= 0 && year <= 9_999) return pad(year, 4);
  return `${year < 0 ? '-' : '+'}${pad(Math.abs(year), 6)}`;
}

/** @param units since midnight, fewer than a day of them @param digits of a second that a unit is: 3 for milliseconds */
export function timeText(units: number, digits: number): string {
  const perSecond = 10 ** digits;
  const second = Math.floor(units / perSecond);
  const clock = [Math.floor(second / 3_600), Math.floor(second / 60) % 60, second % 60]
    .map((part) => pad(part, 2))
    .join(':');
  return digits === 0 ? clock : `${clock}.${pad(units % perSecond, digits)}`;
}

/** @param units since the epoch, in UTC or, for a local time, wherever it is @param digits as for `timeText` */
export function timestampText(units: number | bigint, digits: number): string {
  if (typeof units === 'number') {
    const day = Math.floor(units / (DAY_SECONDS * 10 ** digits));
    return `${dateText(day)}T${timeText(units - day * DAY_SECONDS * 10 ** digits, digits)}`;
  }
  const perDay = BigInt(DAY_SECONDS) * 10n ** BigInt(digits);
  const total = BigInt(units);
  const rest = ((total % perDay) + perDay) % perDay;
  return `${dateText(Number((total - rest) / perDay))}T${timeText(Number(rest), digits)}`;
}

/** @param units of a day, at most: whether a time of day can be that */
export function isTimeOfDay(units: number | bigint, digits: number): units is number {
  return units >= 0 && units < DAY_SECONDS * 10 ** digits;
}

function pad(value: number, digits: number): string {
  return String(value).padStart(digits, '0');
}
