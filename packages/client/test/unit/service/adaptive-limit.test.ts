import assert from 'node:assert/strict';
import test from 'node:test';
import { err, ok } from '../../../src/base/result.ts';
import { Permits } from '../../../src/http/permits.ts';
import { AdaptiveLimit } from '../../../src/service/adaptive-limit.ts';
import type { ServiceAttempt } from '../../../src/service/error-classification.ts';
import { DEFAULT_SETTINGS } from '../../../src/service/options.ts';
import { constantRandom, InstantClock, RecordingObserver } from './fakes.ts';

const WINDOW_MS = 1_000;
const GOOD: ServiceAttempt<string> = ok('done');
const bad = (reason: string): ServiceAttempt<string> =>
  err({ failure: 'unavailable', what: 'failed', reason, address: 'host/path' });

function limitOf(max: number) {
  const clock = new InstantClock();
  const observer = new RecordingObserver();
  const settings = { ...DEFAULT_SETTINGS, limitWindowMs: WINDOW_MS };
  const context = { settings, clock, random: constantRandom(0), observer };
  const permits = new Permits(max);
  const limit = new AdaptiveLimit(context, 'api', max, [permits]);
  const learn = (attempt: ServiceAttempt<string>, startedMs = clock.monotonic()) =>
    limit.learn(attempt, startedMs);
  const pass = (ms: number) => clock.sleep(ms);
  return { changes: observer.limits, learn, pass, clock };
}

const limits = (...expected: number[]) => expected.map((limit) => `api ${limit}`);

test('429, 503 and timeouts halve the limit, at most once in a window, and never below one', async () => {
  const { changes, learn, pass } = limitOf(16);
  for (const reason of [
    '429',
    '503',
    'headers_timeout',
    'connect_timeout',
    'body_timeout',
    '429',
  ]) {
    for (let n = 0; n < 5; n++) learn(bad(reason));
    await pass(WINDOW_MS);
  }
  assert.deepEqual(changes, limits(16, 8, 4, 2, 1));
});

test('each window of success gives one back, up to the maximum', async () => {
  const { changes, learn, pass } = limitOf(5);
  learn(bad('429'));
  for (let n = 0; n < 50; n++) {
    await pass(WINDOW_MS / 10);
    learn(GOOD);
  }
  assert.deepEqual(changes, limits(5, 2, 3, 4, 5));
});

test('a request that began before the last cut does not cut again, however late its timeout is', async () => {
  const { changes, learn, pass, clock } = limitOf(8);
  const startedMs = clock.now();
  await pass(30_000);
  learn(bad('headers_timeout'), startedMs);
  await pass(10 * WINDOW_MS);
  learn(bad('headers_timeout'), startedMs + 5_000);
  assert.deepEqual(changes, limits(8, 4));
  learn(bad('headers_timeout'));
  assert.deepEqual(changes, limits(8, 4, 2));
});
