/** Rates of the console: dead letters of a minute, and calls that fail. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LetterRates, SAMPLE_MS } from '../../../../src/telemetry/console/letter-rate.ts';
import { ServiceCalls } from '../../../../src/telemetry/console/service-calls.ts';
import { PromMetrics } from '../../../../src/telemetry/metrics/metrics.ts';

const MINUTE = 60_000;

function counted() {
  const metrics = new PromMetrics({ version: '1', nodeMetrics: false });
  metrics.startPipeline('p');
  let nowMs = 1_000_000;
  const rates = new LetterRates(metrics, () => nowMs);
  /** Time passes, with `events` and `letters` in each sample's time. */
  const pass = async (ms: number, events: number, letters: number, reason = 'not_json') => {
    for (let t = 0; t < ms; t += SAMPLE_MS) {
      metrics.count('events_consumed_total', { pipeline: 'p' }, events);
      metrics.count('dead_lettered_total', { pipeline: 'p', reason }, letters);
      nowMs += SAMPLE_MS;
      await rates.sample(['p']);
    }
  };
  return { rates, pass, metrics };
}

test('dead letters of the last minute are counted from the first second on, by reason', async () => {
  const { rates, pass, metrics } = counted();
  assert.deepEqual(await rates.of('p'), { letters: 0, records: 0, reasons: [], usual: null });
  metrics.count('events_consumed_total', { pipeline: 'p' }, 5);
  metrics.count('dead_lettered_total', { pipeline: 'p', reason: 'no_type' }, 1);
  const [minute, none] = [await rates.of('p'), await rates.of('q')];
  assert.deepEqual([minute.letters, minute.records, none.records], [1, 5, 0]);
  await pass(30_000, 10, 2);
  assert.deepEqual((await rates.of('p')).reasons, [
    { reason: 'not_json', letters: 4 },
    { reason: 'no_type', letters: 1 },
  ]);
});

test('the usual share is that of the hour before the last minute, and what is older is forgotten', async () => {
  const { rates, pass } = counted();
  await pass(40 * MINUTE, 10, 5);
  await pass(62 * MINUTE, 10, 0);
  await pass(MINUTE, 10, 1);
  const { letters, records, usual } = await rates.of('p');
  assert.deepEqual([letters, records, usual], [4, 40, 0]);
  await pass(30 * MINUTE, 10, 1);
  const later = (await rates.of('p')).usual ?? 0;
  assert.ok(later > 0.04 && later < 0.06, `${later}`);
});

test('records that end without being consumed count: retries of a backlog', async () => {
  const { rates, metrics } = counted();
  metrics.count('decisions_total', { pipeline: 'p', status: 'SUCCESS' }, 90);
  metrics.count('dead_lettered_total', { pipeline: 'p', reason: 'not_json' }, 10);
  const { letters, records } = await rates.of('p');
  assert.deepEqual([letters, records], [10, 100]);
});

test('a call that fails has its first and last failure until it succeeds, or is not made any more', () => {
  let nowMs = 5_000;
  const calls = new ServiceCalls(
    'https://user:secret@reviews.example:8443/v1?key=secret',
    () => nowMs,
  );
  calls.ended('get_batch', '200');
  nowMs += 1_000;
  calls.ended('get_batch', 'connect_failed', 'ECONNREFUSED');
  nowMs += 1_000;
  calls.ended('get_batch', 'aborted');
  calls.ended('get_batch', '503');
  calls.ended('create_batch', '404');
  const { origin, answeredMs, failing } = calls.view();
  assert.deepEqual([origin, answeredMs], ['https://reviews.example:8443', 7_000]);
  assert.deepEqual(failing, [
    {
      ...{ operation: 'get_batch', error: '503', kind: 'unavailable' },
      ...{ sinceMs: 6_000, lastMs: 7_000, times: 2 },
    },
  ]);
  calls.ended('upload', '403');
  calls.ended('download', 'bad_answer', 'X');
  assert.deepEqual(
    calls.view().failing.map(({ kind, error }) => [kind, error]),
    [
      ['unavailable', '503'],
      ['refused', '403'],
      ['invalid', 'bad_answer (X)'],
    ],
  );
  calls.ended('get_batch', '200');
  assert.equal(calls.view().failing.length, 2);
  nowMs += 121_000;
  assert.deepEqual(calls.view().failing, []);
});
