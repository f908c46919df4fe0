/** Formats of numbers and times for people. Pure. */

const NONE = '–';
const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const share = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 1 });
const fine = new Intl.NumberFormat('en', { maximumSignificantDigits: 2 });

/** @param {number | null | undefined} n */
export function count(n) {
  return n === null || n === undefined ? NONE : whole.format(n);
}

/** @param {number} n @param {string} one @param {string} [many] */
export function counted(n, one, many = `${one}s`) {
  return `${count(n)} ${n === 1 ? one : many}`;
}

/** @param {number} n from 0 to 1 */
export function percent(n) {
  return share.format(n).replace('%', ' %');
}

/** Per second. @param {number | null | undefined} n */
export function rate(n) {
  if (n === null || n === undefined) return NONE;
  return n >= 10 ? whole.format(n) : fine.format(Math.round(n * 100) / 100);
}

/** At most two units: `4 min 12 s`. @param {number | null | undefined} seconds */
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return NONE;
  if (seconds <= 0) return '0 s';
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 10) return `${Math.round(seconds * 10) / 10} s`;
  const s = Math.round(seconds);
  if (s < 60) return `${s} s`;
  if (s < 3600) return two(Math.floor(s / 60), 'min', s % 60, 's');
  if (s < 86_400) return two(Math.floor(s / 3600), 'h', Math.floor((s % 3600) / 60), 'min');
  return two(Math.floor(s / 86_400), 'd', Math.floor((s % 86_400) / 3600), 'h');
}

/** Whole seconds, so that ages tick evenly. @param {number | null | undefined} ms */
export function age(ms) {
  return ms === null || ms === undefined
    ? NONE
    : duration(Math.max(0, ms) < 1000 ? 0.0001 : Math.floor(ms / 1000)).replace(/^0 ms$/, 'now');
}

/** @param {number} ms */
export function ago(ms) {
  return ms < 1000 ? 'just now' : `${age(ms)} ago`;
}

/** @param {string} text */
export function capital(text) {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** @param {number} n */
export function bytes(n) {
  const units = ['B', 'KiB', 'MiB', 'GiB'];
  let at = 0;
  let value = n;
  for (; value >= 1024 && at < units.length - 1; at++) value /= 1024;
  return `${value >= 10 || at === 0 ? Math.round(value) : Math.round(value * 10) / 10} ${units[at]}`;
}

/** Local time of day, with the date if it is more than 12 hours away. @param {number} ms @param {number} nowMs */
export function clock(ms, nowMs) {
  const at = new Date(ms);
  if (Number.isNaN(at.getTime())) return NONE;
  const day =
    Math.abs(nowMs - ms) > 43_200_000
      ? `${at.toLocaleDateString('en', { day: 'numeric', month: 'short' })}, `
      : '';
  return (
    day +
    [at.getHours(), at.getMinutes(), at.getSeconds()]
      .map((part) => String(part).padStart(2, '0'))
      .join(':')
  );
}

/** @param {{ partition: number, offset: number }} record */
export const placeOf = ({ partition, offset }) => `${partition}:${offset}`;

const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Returns a text of others with escapes for characters that move a cursor or turn the direction of text. @param {string} text */
export function escaped(text) {
  return text.replace(UNPRINTABLE, (character) => {
    const hex = Number(character.codePointAt(0)).toString(16);
    return hex.length > 4 ? `\\U${hex.padStart(8, '0')}` : `\\u${hex.padStart(4, '0')}`;
  });
}

/** @param {number} a @param {string} big @param {number} b @param {string} small */
function two(a, big, b, small) {
  return b === 0 ? `${a} ${big}` : `${a} ${big} ${b} ${small}`;
}
