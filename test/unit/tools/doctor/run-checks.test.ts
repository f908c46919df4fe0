/** Check runner: each check runs once, in order, after its prerequisites, within its timeout. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { systemClock } from '../../../../src/base/system-clock.ts';
import {
  type Check,
  type Finding,
  failed,
  ok,
  skipped,
  together,
  warning,
} from '../../../../src/tools/doctor/check.ts';
import { type Result, runChecks } from '../../../../src/tools/doctor/run-checks.ts';

const check = (about: string, run: Check['run'], more: Partial<Check> = {}): Check => ({
  name: about,
  about,
  run,
  ...more,
});

async function run(
  checks: readonly Check[],
  signal = new AbortController().signal,
): Promise<Result[]> {
  const told: Result[] = [];
  const results = await runChecks(checks, systemClock, signal, (result) => told.push(result));
  assert.deepEqual(told, results);
  return results;
}

const STATUSES = ['ok', 'warning', 'failed', 'skipped', 'throws'] as const;
const graph = fc.array(
  fc.record({
    status: fc.constantFrom(...STATUSES),
    needs: fc.array(fc.nat(11)),
    after: fc.array(fc.nat(11)),
    delay: fc.boolean(),
  }),
  { minLength: 1, maxLength: 12 },
);

test('whatever hangs on what: each check is told once, in order, and tried if and only if all that it needs was well', async () => {
  await fc.assert(
    fc.asyncProperty(graph, async (nodes) => {
      const ran: number[] = [];
      const checks: Check[] = [];
      const before = (of: readonly number[], n: number) => [
        ...new Set(of.filter((one) => one < n)),
      ];
      nodes.forEach(({ status, needs, after, delay }, n) => {
        const [needed, awaited] = [before(needs, n), before(after, n)];
        const act = async (): Promise<Finding> => {
          ran.push(n);
          if (delay) await new Promise((resolve) => setImmediate(resolve));
          if (status === 'throws') throw new Error('thrown');
          return { status, found: status };
        };
        const from = (of: readonly number[]) => of.map((one) => checks[one] as Check);
        checks.push(check(String(n), act, { needs: from(needed), after: from(awaited) }));
      });
      const results = await run(checks);
      assert.deepEqual(
        results.map((one) => one.check),
        checks,
      );
      results.forEach((result, n) => {
        const needed = before(nodes[n]?.needs ?? [], n).map((one) => results[one]?.status);
        const tried = needed.every((status) => status === 'ok' || status === 'warning');
        assert.equal(ran.includes(n), tried);
        for (const one of before(nodes[n]?.after ?? [], n))
          if (tried && ran.includes(one)) assert.ok(ran.indexOf(one) < ran.indexOf(n));
        const own = nodes[n]?.status;
        assert.equal(result.status, tried ? (own === 'throws' ? 'failed' : own) : 'skipped');
        if (!tried) assert.match(result.found, /^not tried, because /);
      });
    }),
  );
});

test('what was not tried names the first cause, not the check between', async () => {
  const root = check('the brokers', async () => failed('away'));
  const middle = check('the topic', async () => ok(''), { needs: [root], pipeline: 'posts' });
  const last = check('the records', async () => ok(''), { needs: [middle] });
  const results = await run([root, middle, last]);
  assert.deepEqual(
    results.slice(1).map(({ found }) => found),
    ['not tried, because the brokers failed', 'not tried, because the brokers failed'],
  );
});

test('a check that hangs ends at its limit and is told to stop; the others are not held up', async () => {
  let stopped = false;
  const hangs = check(
    'hangs',
    (signal) =>
      new Promise(() => {
        signal.addEventListener('abort', () => {
          stopped = true;
        });
      }),
    { limitMs: 20 },
  );
  const results = await run([
    hangs,
    check('well', async () => ok('fine')),
    check('hangs on it', async () => ok(''), { needs: [hangs] }),
  ]);
  assert.deepEqual(
    results.map(({ status }) => status),
    ['failed', 'ok', 'skipped'],
  );
  assert.match(results[0]?.found ?? '', /^no answer within/);
  assert.equal(stopped, true);
});

test('an interruption ends all at once, with its reason', async () => {
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

test('several findings become one: the worst counts, each remedy is told once', () => {
  assert.deepEqual(together('fine', [ok('a'), skipped('b')]), ok('fine'));
  assert.deepEqual(
    together('fine', [warning('a', 'do x'), warning('b', 'do x'), ok('c')]),
    warning('a; b', 'do x'),
  );
  assert.deepEqual(
    together('fine', [warning('a', 'do x'), failed('b', 'do y')]),
    failed('a; b', 'do x; do y'),
  );
  assert.deepEqual(together('fine', [failed('b')]), failed('b'));
});
