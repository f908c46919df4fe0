/** Formats and throughput of the page, without a browser. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

/** Scripts for browsers: their types are checked by tsconfig.console.json. */
// biome-ignore lint/suspicious/noExplicitAny: what they take is checked there
const load = (file: string): Promise<any> =>
  import(new URL(`../../../../src/telemetry/console/page/${file}`, import.meta.url).href);
const { age, bytes, clock, count, rate } = await load('format.js');
const { Throughput } = await load('throughput.js');

const NOW_MS = Date.UTC(2026, 10, 21, 12);
const DAY_MS = 86_400_000;

test('ages have two units at most, and numbers their separators', () => {
  const ages = [-5, 400, 59_999, 60_000, 252_000, 3_600_000, 5_040_000, 90_000_000].map(age);
  assert.deepEqual(ages, [
    ...['now', 'now', '59 s', '1 min', '4 min 12 s'],
    ...['1 h', '1 h 24 min', '1 d 1 h'],
  ]);
  assert.deepEqual(
    [count(1_234_567), count(null), rate(0.333), rate(1_234), rate(undefined)],
    ['1,234,567', '–', '0.33/s', '1,234/s', '–'],
  );
  assert.deepEqual([bytes(0), bytes(1_536), bytes(64 * 2 ** 20)], ['0 B', '1.5 KiB', '64 MiB']);
  assert.match(clock(NOW_MS, NOW_MS), /^\d\d:\d\d:\d\d$/);
  assert.match(clock(NOW_MS - 3 * DAY_MS, NOW_MS), /^\w+ \d+, \d\d:\d\d:\d\d$/);
});

test('a steady stream has a steady rate, averaged over ten seconds, and starts again with the process', () => {
  const throughput = new Throughput();
  assert.equal(throughput.perSecond, undefined);
  const add = (at: number, startedMs: number, ended = 700 + at * 50) =>
    throughput.add({ nowMs: 1_000_000 + at * 2_000, startedMs, detail: { name: 'p', ended } });
  for (let at = 0; at < 400; at++) add(at, 0);
  assert.equal(throughput.perSecond, 25);
  add(400, 0, 700 + 400 * 50 + 100);
  assert.equal(throughput.perSecond, 35);
  add(401, 1);
  assert.equal(throughput.perSecond, undefined);
});
