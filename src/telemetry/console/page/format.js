/** Pure functions that format numbers and times for people. */

const NONE = '–';
const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const fine = new Intl.NumberFormat('en', { maximumSignificantDigits: 2 });

/** @param {number | null} n */
export const count = (n) => (n === null ? NONE : whole.format(n));

/** Formats a rate in events per second. @param {number | undefined} n */
export function rate(n) {
  if (n === undefined) return NONE;
  return `${n >= 10 ? whole.format(n) : fine.format(Math.round(n * 100) / 100)}/s`;
}

/** Formats an age in whole seconds and at most two units: `4 min 12 s`. @param {number} ms */
export function age(ms) {
  const s = Math.floor(Math.max(0, ms) / 1000);
  if (s < 60) return s === 0 ? 'now' : `${s} s`;
  if (s < 3600) return two(Math.floor(s / 60), 'min', s % 60, 's');
  if (s < 86_400) return two(Math.floor(s / 3600), 'h', Math.floor((s % 3600) / 60), 'min');
  return two(Math.floor(s / 86_400), 'd', Math.floor((s % 86_400) / 3600), 'h');
}

/** @param {number} ms */
export const ago = (ms) => (ms < 1000 ? 'just now' : `${age(ms)} ago`);

/** @param {number} n */
export function bytes(n) {
  const units = ['B', 'KiB', 'MiB', 'GiB'];
  let at = 0;
  let value = n;
  for (; value >= 1024 && at < units.length - 1; at++) value /= 1024;
  return `${value >= 10 || at === 0 ? Math.round(value) : Math.round(value * 10) / 10} ${units[at]}`;
}

/**
 * Formats a local time of day. Adds the date if it is more than 12 hours away. @param {number} ms
 * @param {number} nowMs
 */
export function clock(ms, nowMs) {
  const at = new Date(ms);
  const time = at.toLocaleTimeString('en-GB');
  if (Math.abs(nowMs - ms) <= 43_200_000) return time;
  return `${at.toLocaleDateString('en', { day: 'numeric', month: 'short' })}, ${time}`;
}

/** @param {number} a @param {string} big @param {number} b @param {string} small */
function two(a, big, b, small) {
  return b === 0 ? `${a} ${big}` : `${a} ${big} ${b} ${small}`;
}
