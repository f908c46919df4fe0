/** The sandbox against the service's interface, line by line. The numbers in the names are its sections. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'csv-parse/sync';
import type { PolicyInput } from '../../src/policy.ts';
import { HandClock, raw, sandboxFor } from './caller.ts';

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

test('2.1, 3.1 a batch waits for its upload, is PENDING for the review time, then SUCCESS, and its counts move along', async (t) => {
  const clock = new HandClock();
  const timing = { storageEventDelay: '5s', reviewTime: '10s' } as const;
  const { caller } = await sandboxFor(t, { clock, policy: { ...POLICY, timing } });
  const { batch_id, upload_url } = await caller.create();
  await caller.upload(upload_url, CSV);
  assert.deepEqual(await caller.retrieve(batch_id), {
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
  clock.advance(5_000);
  const pending = await caller.retrieve(batch_id);
  assert.deepEqual(
    [pending.batch_status, pending.batch_count, pending.pending_count, pending.download_url],
    ['PENDING', 3, 3, null],
  );
  clock.advance(9_999);
  assert.equal((await caller.retrieve(batch_id)).batch_status, 'PENDING');
  clock.advance(1);
  const { download_url, ...finished } = await caller.retrieve(batch_id);
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

test('2.3 the result file has the columns of the document, then the metadata, one row for each item, statuses SUCCESS and ERROR', async (t) => {
  const { caller } = await sandboxFor(t, { policy: POLICY });
  const { download_url } = await caller.reviewed(CSV);
  const reply = await raw('GET', download_url);
  assert.equal(reply.status, 200);
  const labels = JSON.stringify([{ name: 'advertising', applied: true, explanation: 'It sells.' }]);
  assert.deepEqual(parse(reply.text), [
    ['Content', 'Status', 'Sandbox result', 'Expected result', 'Labels', 'user'],
    ['hello', 'SUCCESS', 'ok', 'ok', '[]', '7'],
    ['buy now', 'SUCCESS', 'bad', 'bad', labels, '8'],
    ['broken', 'ERROR', '', 'ok', '', '9'],
  ]);
});

test('2.6, 4.5 a decision is PENDING without a result, then judged by the policy', async (t) => {
  const clock = new HandClock();
  const { sandbox, caller } = await sandboxFor(t, { clock, policy: POLICY });
  const metadata = { user: 7 };
  const [id] = sandbox.makeDecisions([{ content: 'buy now', metadata, pending: '1s' }]);
  const get = async () => JSON.parse((await caller.get(`/v1/decisions/${id}`)).text);
  const pending = { decision_id: id, decision_status: 'PENDING', metadata };
  assert.deepEqual(await get(), { ...pending, result: null, labels: null });
  clock.advance(1_000);
  const { decision_status, result, labels } = await get();
  assert.deepEqual([decision_status, result, labels.length], ['SUCCESS', 'bad', 1]);
  assert.equal((await caller.get('/v1/decisions/other')).status, 404);
});

test('5 every call needs a known bearer key: 401 with a JSON error otherwise, and nothing is created', async (t) => {
  const { sandbox, caller } = await sandboxFor(t, { apiKeys: ['one', 'two'] });
  const json = { 'content-type': 'application/json' };
  for (const authorization of [
    '',
    'Bearer',
    'Bearer three',
    'Basic one',
    'one',
    'Bearer one two',
  ]) {
    const headers = { ...json, ...(authorization && { authorization }) };
    for (const reply of [
      await caller.post({ type: 'a' }, headers),
      await caller.get('/v1/batches/x', headers),
    ]) {
      assert.equal(reply.status, 401, authorization);
      assert.equal(JSON.parse(reply.text).error.code, 'unauthorized');
    }
  }
  assert.equal(sandbox.batches().length, 0);
  for (const key of ['one', 'two'])
    assert.equal(
      (await caller.post({ type: 'a' }, { ...json, authorization: `Bearer ${key}` })).status,
      200,
    );
});
