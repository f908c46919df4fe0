import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import {
  GroupReadings,
  type GroupReport,
} from '../../../../src/telemetry/console/group-reading.ts';

const SECOND = 1_000;
const REPORT: GroupReport = { state: 'Stable', members: 2, shardCount: 0, shards: [] };

function readings(limitMs?: number) {
  let nowMs = 1_000_000;
  const begun: string[] = [];
  const signals: AbortSignal[] = [];
  let pending = Promise.withResolvers<GroupReport>();
  const group = new GroupReadings(
    ['p', 'q'],
    async (pipeline, signal) => {
      begun.push(pipeline);
      signals.push(signal);
      signal.addEventListener('abort', () => pending.reject(signal.reason));
      return await pending.promise;
    },
    () => nowMs,
    limitMs,
  );
  const end = async (ms: number, answer: GroupReport | Error) => {
    nowMs += ms;
    if (answer instanceof Error) pending.reject(answer);
    else pending.resolve(answer);
    await turn();
    pending = Promise.withResolvers();
  };
  const pass = (ms: number) => {
    nowMs += ms;
  };
  return { group, begun, signals, end, pass, now: () => nowMs };
}

test('nothing is read before a page wants it; a request gets the last reading with its age, and never waits', async () => {
  const { group, begun, end, pass, now } = readings();
  assert.deepEqual(begun, []);
  assert.deepEqual(group.view('p').report, null);
  assert.deepEqual(begun, ['p']);
  await end(SECOND, REPORT);
  pass(5 * SECOND);
  const { report, atMs, tookMs } = group.view('p');
  assert.deepEqual([report, now() - (atMs ?? 0), tookMs], [REPORT, 5 * SECOND, SECOND]);
  assert.equal(begun.length, 1);
});

test('texts of a journal that others have written to do not make a response large', async () => {
  const { group, end } = readings();
  const shard = { shard: 0, seenMs: 1, writtenMs: 1, jobs: 0, records: 0, lag: 0, partitions: 0 };
  const long = 'x'.repeat(1_000_000);
  const id = '2191e772-647f-4bd3-b34e-aff57c9e9b9a';
  const shards = [id, long].map((instance) => ({ ...shard, instance, watermarks: [] }));
  group.view('p');
  await end(SECOND, { ...REPORT, shards });
  assert.equal(group.view('p').report?.shards[0]?.instance, id);
  assert.ok(JSON.stringify(group.view('p')).length < 1_000);
  group.view('q');
  await end(SECOND, new Error(long));
  assert.ok(JSON.stringify(group.view('q')).length < 1_000);
});

test('one pipeline is read at a time, an unknown one stands for the first, and each again after half a minute', async () => {
  const { group, begun, end, pass } = readings();
  group.view('p');
  group.view('q');
  group.view('nope');
  assert.deepEqual(begun, ['p']);
  await end(SECOND, REPORT);
  group.view('q');
  assert.deepEqual(begun, ['p', 'q']);
  await end(SECOND, REPORT);
  pass(28 * SECOND);
  group.view('p');
  assert.equal(begun.length, 2);
  pass(SECOND);
  group.view();
  assert.deepEqual(begun, ['p', 'q', 'p']);
});

test('a journal that takes long is read less often', async () => {
  const { group, begun, end, pass } = readings();
  group.view('p');
  await end(10 * SECOND, REPORT);
  pass(99 * SECOND);
  group.view('p');
  assert.equal(begun.length, 1);
  pass(SECOND);
  group.view('p');
  assert.equal(begun.length, 2);
});

test('a reading that fails leaves the last one, and tells why', async () => {
  const { group, end, pass, now } = readings();
  group.view('p');
  await end(SECOND, REPORT);
  pass(31 * SECOND);
  group.view('p');
  await end(SECOND, new Error('Kafka cannot be reached'));
  const { report, problem, atMs } = group.view('p');
  assert.deepEqual([report, problem], [REPORT, 'Kafka cannot be reached']);
  assert.ok(now() - (atMs ?? 0) > 30 * SECOND);
});

test('a reading ends at its limit, and with the console', async () => {
  const limited = readings(1);
  limited.group.view('p');
  const [signal] = limited.signals;
  await new Promise((resolve) => signal?.addEventListener('abort', resolve));
  await turn();
  assert.equal(limited.group.view('p').problem, 'not read within 0.001 s');
  const closed = readings();
  closed.group.view('p');
  closed.group.close();
  assert.equal(closed.signals[0]?.aborted, true);
  await turn();
  closed.pass(60 * SECOND);
  closed.group.view('p');
  assert.equal(closed.begun.length, 1);
});
