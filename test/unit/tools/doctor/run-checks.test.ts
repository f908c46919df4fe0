/** Check runner, which runs each check once, in order, after its prerequisites and within its timeout. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Clock, systemClock } from '../../../../packages/client/src/base/clock.ts';
import {
  type CheckReport,
  type Diagnosis,
  type DoctorCheck,
  failed,
  ok,
  runChecks,
  together,
  warning,
} from '../../../../src/tools/doctor/check.ts';
import { VirtualClock } from '../../../support/memory/clock.ts';

const check = (
  about: string,
  run: DoctorCheck['run'],
  more: Partial<DoctorCheck> = {},
): DoctorCheck => ({ name: about, about, run, ...more });

async function run(
  checks: readonly DoctorCheck[],
  signal = new AbortController().signal,
  clock: Clock = systemClock,
): Promise<CheckReport[]> {
  const reported: CheckReport[] = [];
  const results = await runChecks(checks, clock, signal, (result) => reported.push(result));
  assert.deepEqual(reported, results);
  return results;
}

const STATUSES = ['ok', 'warning', 'failed', 'skipped', 'throws'] as const;
const graph = fc.array(
  fc.record({
    status: fc.constantFrom(...STATUSES),
    needs: fc.array(fc.nat(11)),
    delay: fc.boolean(),
  }),
  { minLength: 1, maxLength: 12 },
);

test('each check is reported once, in order, and runs only if all its prerequisites succeeded', async () => {
  await fc.assert(
    fc.asyncProperty(graph, async (nodes) => {
      const ran: number[] = [];
      const needed = (n: number) => (nodes[n]?.needs ?? []).filter((one) => one < n);
      const checks = nodes.map(({ status, delay }, n) => {
        const act = async (): Promise<Diagnosis> => {
          ran.push(n);
          if (delay) await new Promise((resolve) => setImmediate(resolve));
          if (status === 'throws') throw new Error('thrown');
          return { status, found: 'not tried, because of a test' };
        };
        return check(String(n), act, { needs: needed(n).map(String) });
      });
      const results = await run(checks);
      assert.deepEqual(
        results.map((one) => one.check),
        checks,
      );
      assert.deepEqual(
        ran,
        ran.toSorted((a, b) => a - b),
      );
      results.forEach((result, n) => {
        const before = needed(n).map((one) => results[one]?.status);
        const tried = before.every((status) => status === 'ok' || status === 'warning');
        assert.equal(ran.includes(n), tried);
        const own = nodes[n]?.status;
        assert.equal(result.status, tried ? (own === 'throws' ? 'failed' : own) : 'skipped');
        if (!tried) assert.match(result.found, /^not tried, because /);
      });
    }),
  );
});

test('a check needs the checks of its own pipeline and of the whole configuration', async () => {
  const results = await run([
    check('topic', async () => failed('away'), { pipeline: 'posts' }),
    check('topic', async () => ok(''), { pipeline: 'images' }),
    check('records', async () => ok(''), { pipeline: 'posts', needs: ['topic'] }),
    check('records', async () => ok(''), { pipeline: 'images', needs: ['topic'] }),
  ]);
  assert.deepEqual(
    results.map(({ status }) => status),
    ['failed', 'ok', 'skipped', 'ok'],
  );
  assert.equal(results[2]?.found, 'not tried, because posts: topic failed');
});

test('a skipped check reports the first cause, not an intermediate check', async () => {
  const root = check('the brokers', async () => failed('away'));
  const middle = check('the topic', async () => ok(''), { needs: ['the brokers'] });
  const last = check('the records', async () => ok(''), { needs: ['the topic'] });
  const results = await run([root, middle, last]);
  assert.deepEqual(
    results.slice(1).map(({ found }) => found),
    ['not tried, because the brokers failed', 'not tried, because the brokers failed'],
  );
});

test('a check that hangs is aborted at its time limit, and the other checks still run', async () => {
  let stopped = false;
  const hangs = check(
    'hangs',
    (signal) =>
      new Promise(() => {
        signal.addEventListener('abort', () => {
          stopped = true;
        });
      }),
  );
  const clock = new VirtualClock();
  const running = run(
    [
      hangs,
      check('well', async () => ok('fine')),
      check('hangs on it', async () => ok(''), { needs: ['hangs'] }),
    ],
    new AbortController().signal,
    clock,
  );
  await clock.advance(60_000);
  const results = await running;
  assert.deepEqual(
    results.map(({ status }) => status),
    ['failed', 'ok', 'skipped'],
  );
  assert.match(results[0]?.found ?? '', /^no response within/);
  assert.equal(stopped, true);
});

test('an interruption ends the run immediately, with its reason', async () => {
  const stop = new AbortController();
  const forever = check(
    'forever',
    (signal) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  );
  const running = run(
    [forever, ...Array.from({ length: 9 }, () => forever).map((one) => ({ ...one }))],
    stop.signal,
  );
  setImmediate(() => stop.abort(new Error('interrupted')));
  await assert.rejects(running, /^Error: interrupted$/);
});

test('several problems are combined: the worst status is used, and each remedy appears once', () => {
  assert.deepEqual(together('fine', [false, undefined]), ok('fine'));
  assert.deepEqual(
    together('fine', [warning('a', 'do x'), warning('b', 'do x'), false]),
    warning('a; b', 'do x'),
  );
  assert.deepEqual(
    together('fine', [warning('a', 'do x'), failed('b', 'do y')]),
    failed('a; b', 'do x; do y'),
  );
  assert.deepEqual(together('fine', [failed('b')]), failed('b'));
});
