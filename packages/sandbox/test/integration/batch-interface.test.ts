/** The sandbox, compared with each line of the service's interface. The numbers in the names are its sections. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { parse } from 'csv-parse/sync';
import { SteppingClock } from '../../../client/test/integration/library/scripted.ts';
import type { PolicyInput } from '../../src/policy.ts';
import { type SandboxOptions, startSandbox } from '../../src/sandbox.ts';

const CSV = 'Content,Expected result,user\nhello,ok,7\nbuy now,bad,8\nbroken,ok,9\n';
const POLICY: PolicyInput = {
  review: {
    default: 'ok',
    rules: [
      { when: { contains: 'buy' }, label: 'advertising', explanation: 'It sells.', result: 'bad' },
      { when: { contains: 'broken' }, error: true },
    ],
  },
};

const KEY = 'test-key';
const JSON_TYPE = { 'content-type': 'application/json' };

/** Starts a sandbox that ends with the test. Failures of the sandbox itself fail the test. */
async function sandboxFor(t: TestContext, options: Partial<SandboxOptions> = {}) {
  const failures: unknown[] = [];
  const onError = (error: unknown) => void failures.push(error);
  const sandbox = await startSandbox({ apiKeys: [KEY], onError, ...options });
  t.after(async () => {
    await sandbox.stop();
    assert.deepEqual(failures, []);
  });
  const call = (path: string, init: RequestInit = {}, authorization = `Bearer ${KEY}`) =>
    fetch(sandbox.baseUrl + path, { ...init, headers: { ...JSON_TYPE, authorization } });
  const read = async (path: string, init: RequestInit = {}) => (await call(path, init)).json();
  /** Creates a batch and uploads its items. @returns its id */
  const submitted = async (): Promise<string> => {
    const body = JSON.stringify({ type: 'comment' });
    const { batch_id, upload_url } = await read('/v1/batches', { method: 'POST', body });
    const upload = { method: 'PUT', headers: { 'content-type': 'text/csv' }, body: CSV };
    assert.equal((await fetch(upload_url, upload)).status, 200);
    return batch_id;
  };
  return { sandbox, call, read, submitted };
}

test('2.1, 3.1 a batch waits for its upload, is PENDING for the review time, then SUCCESS, and its counts follow the state', async (t) => {
  const clock = new SteppingClock();
  const timing = { storageEventDelay: '5s', reviewTime: '10s' } as const;
  const { read, submitted } = await sandboxFor(t, { clock, policy: { ...POLICY, timing } });
  const batch_id = await submitted();
  const retrieve = () => read(`/v1/batches/${batch_id}`);
  assert.deepEqual(await retrieve(), {
    batch_id,
    type: 'comment',
    batch_status: 'WAITING_FOR_UPLOAD',
    upload_url: null,
    download_url: null,
    batch_count: 0,
    success_count: 0,
    pending_count: 0,
    error_count: 0,
    cancelled_count: 0,
  });
  await clock.sleep(5_000);
  const pending = await retrieve();
  assert.deepEqual(
    [pending.batch_status, pending.batch_count, pending.pending_count, pending.download_url],
    ['PENDING', 3, 3, null],
  );
  await clock.sleep(9_999);
  assert.equal((await retrieve()).batch_status, 'PENDING');
  await clock.sleep(1);
  const { download_url, ...finished } = await retrieve();
  assert.equal(typeof download_url, 'string');
  assert.deepEqual(finished, {
    batch_id,
    type: 'comment',
    batch_status: 'SUCCESS',
    upload_url: null,
    batch_count: 3,
    success_count: 2,
    pending_count: 0,
    error_count: 1,
    cancelled_count: 0,
  });
});

test('2.3 the result file has the documented columns, then the metadata, and one row per item with status SUCCESS or ERROR', async (t) => {
  const { read, submitted } = await sandboxFor(t, { policy: POLICY });
  const { download_url } = await read(`/v1/batches/${await submitted()}`);
  const file = await (await fetch(download_url)).text();
  const labels = JSON.stringify([{ name: 'advertising', applied: true, explanation: 'It sells.' }]);
  assert.deepEqual(parse(file), [
    ['Content', 'Status', 'Sandbox result', 'Expected result', 'Labels', 'user'],
    ['hello', 'SUCCESS', 'ok', 'ok', '[]', '7'],
    ['buy now', 'SUCCESS', 'bad', 'bad', labels, '8'],
    ['broken', 'ERROR', '', 'ok', '', '9'],
  ]);
});

test('2.6, 4.5 a decision is PENDING without a result, then judged by the policy', async (t) => {
  const clock = new SteppingClock();
  const { sandbox, call, read } = await sandboxFor(t, { clock, policy: POLICY });
  const metadata = { user: 7 };
  const [id] = sandbox.makeDecisions([{ content: 'buy now', metadata, pending: '1s' }]);
  const get = () => read(`/v1/decisions/${id}`);
  const pending = { decision_id: id, decision_status: 'PENDING', metadata };
  assert.deepEqual(await get(), { ...pending, result: null, labels: null });
  await clock.sleep(1_000);
  const { decision_status, result, labels } = await get();
  assert.deepEqual([decision_status, result, labels.length], ['SUCCESS', 'bad', 1]);
  assert.equal((await call('/v1/decisions/other')).status, 404);
});

test('5 every call needs a known bearer key: 401 with a JSON error otherwise, and nothing is created', async (t) => {
  const { sandbox, call } = await sandboxFor(t, { apiKeys: ['one', 'two'] });
  const create = { method: 'POST', body: '{"type":"a"}' };
  for (const authorization of ['', 'Bearer', 'Bearer three', 'Basic one', 'one', 'Bearer one two'])
    for (const reply of [
      await call('/v1/batches', create, authorization),
      await call('/v1/batches/x', {}, authorization),
    ]) {
      assert.equal(reply.status, 401, authorization);
      assert.equal((await reply.json()).error.code, 'unauthorized');
    }
  assert.equal(sandbox.batches().length, 0);
  for (const key of ['one', 'two'])
    assert.equal((await call('/v1/batches', create, `Bearer ${key}`)).status, 200);
});
