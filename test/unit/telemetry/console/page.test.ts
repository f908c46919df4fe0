/** Throughput of the console page, tested without a browser. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

/** Loads scripts for browsers, whose types tsconfig.console.json checks. */
// biome-ignore lint/suspicious/noExplicitAny: their types are checked there
const load = (file: string): Promise<any> =>
  import(new URL(`../../../../src/telemetry/console/page/${file}`, import.meta.url).href);
const { Throughput } = await load('throughput.js');

test('the rate is an average over ten seconds, and restarts with the process', () => {
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
