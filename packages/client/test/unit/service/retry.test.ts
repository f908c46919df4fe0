import assert from 'node:assert/strict';
import test from 'node:test';
import { err, ok } from '../../../src/base/result.ts';
import type { ServiceAttempt, ServiceProblem } from '../../../src/service/error-classification.ts';
import {
  DEFAULT_SETTINGS,
  type RetrySettings,
  type ServiceContext,
} from '../../../src/service/options.ts';
import { withRetry } from '../../../src/service/request.ts';
import { constantRandom, InstantClock, RecordingObserver } from './fakes.ts';

const never = new AbortController().signal;

function contextWith(retry: Partial<RetrySettings>, clock = new InstantClock(), draw = 0.5) {
  const observer = new RecordingObserver();
  const settings = { ...DEFAULT_SETTINGS, retry: { ...DEFAULT_SETTINGS.retry, ...retry } };
  return {
    context: { settings, clock, random: constantRandom(draw), observer } satisfies ServiceContext,
    clock,
    observer,
  };
}

function failing(problem: Partial<ServiceProblem> = {}): ServiceAttempt<never> {
  return err({
    failure: 'unavailable',
    what: 'responded with 503',
    reason: '503',
    status: 503,
    address: 'host/path',
    ...problem,
  });
}

/** Returns an attempt that fails the given number of times, then succeeds. */
function after(
  failures: number,
  problem: Partial<ServiceProblem> = {},
): () => Promise<ServiceAttempt<string>> {
  let left = failures;
  return async () => (left-- > 0 ? failing(problem) : ok('done'));
}

test('a transient failure is retried, with exponentially growing, jittered waits', async () => {
  const { context, clock, observer } = contextWith({ baseMs: 100, capMs: 350, maxRetries: 4 });
  assert.equal(await withRetry(context, 'op', never, after(4)), 'done');
  assert.deepEqual(clock.slept, [50, 100, 175, 175]);
  assert.deepEqual(observer.retries, Array(4).fill('op 503'));
});

test('no attempt starts later than maxElapsedMs after the first failure', async () => {
  const { context, clock } = contextWith({
    baseMs: 1000,
    capMs: 1000,
    maxRetries: 100,
    maxElapsedMs: 2200,
  });
  await assert.rejects(withRetry(context, 'op', never, after(100)), /tried 5 times/);
  assert.deepEqual(clock.slept, [500, 500, 500, 500]);
});

test('Retry-After is a minimum: the wait is never shorter, even at the lowest draw', async () => {
  for (const draw of [0, 0.999]) {
    const { context, clock } = contextWith({ baseMs: 100 }, new InstantClock(), draw);
    await withRetry(context, 'op', never, after(1, { retryAfterMs: 7000 }));
    assert.equal(clock.slept.length, 1);
    assert.ok((clock.slept[0] ?? 0) >= 7000);
  }
});

test('a Retry-After beyond the time limit ends the retries at once and is passed on', async () => {
  const { context, clock } = contextWith({ maxElapsedMs: 5000 });
  await assert.rejects(withRetry(context, 'op', never, after(1, { retryAfterMs: 60_000 })), {
    retryAfterMs: 60_000,
  });
  assert.deepEqual(clock.slept, []);
});
