/** Check runner, which runs each check once, in order, after Kafka was reached and within its timeout. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Clock, systemClock } from '../../../../packages/client/src/base/clock.ts';
import {
  type CheckReport,
  type Diagnosis,
  type DoctorCheck,
  failed,
  KAFKA_CONNECT,
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
const plan = fc.record({
  kafka: fc.constantFrom('ok', 'warning', 'failed', 'throws'),
  others: fc.array(
    fc.record({
      status: fc.constantFrom(...STATUSES),
      needsKafka: fc.boolean(),
      delay: fc.boolean(),
    }),
    { maxLength: 12 },
  ),
});

test('each check is reported once, in order, and runs unless it needs Kafka and Kafka cannot be reached', async () => {
  await fc.assert(
    fc.asyncProperty(plan, async ({ kafka, others }) => {
      const ran: string[] = [];
      const nodes = [
        { name: KAFKA_CONNECT, status: kafka, needsKafka: false, delay: true },
        ...others.map((one, n) => ({ name: String(n), ...one })),
      ];
      const checks = nodes.map(({ name, status, needsKafka, delay }) => {
        const act = async (): Promise<Diagnosis> => {
          ran.push(name);
          if (delay) await new Promise((resolve) => setImmediate(resolve));
          if (status === 'throws') throw new Error('thrown');
          return { status, found: 'tried' } as Diagnosis;
        };
        return check(name, act, needsKafka ? { needsKafka } : {});
      });
      const results = await run(checks);
      assert.deepEqual(
        results.map((one) => one.check),
        checks,
      );
      const isUp = kafka === 'ok' || kafka === 'warning';
      const tried = nodes.filter(({ needsKafka }) => isUp || !needsKafka);
      assert.deepEqual(
        ran,
        tried.map(({ name }) => name),
      );
      for (const [n, node] of nodes.entries()) {
        const { status, found } = results[n] as CheckReport;
        if (!tried.includes(node))
          assert.deepEqual(
            [status, found],
            ['skipped', `not tried, because ${KAFKA_CONNECT} failed`],
          );
        else assert.equal(status, node.status === 'throws' ? 'failed' : node.status);
      }
    }),
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
    [hangs, check('well', async () => ok('fine'))],
    new AbortController().signal,
    clock,
  );
  await clock.advance(60_000);
  const results = await running;
  assert.deepEqual(
    results.map(({ status }) => status),
    ['failed', 'ok'],
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
