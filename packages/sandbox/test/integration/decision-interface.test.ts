/** The sandbox's decisions against the service's interface. The numbers in the names are its sections. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PolicyInput } from '../../src/policy/schema.ts';
import { HandClock, sandboxFor } from './caller.ts';

const POLICY: PolicyInput = {
  review: {
    default: 'ok',
    rules: [
      {
        when: { contains: 'buy' },
        label: 'ads',
        explanation: 'It sells.',
        otherwise: 'No.',
        result: 'bad',
      },
      { when: { contains: 'broken' }, error: true },
    ],
  },
};

test('2.6, 4.5 a decision has its metadata, result and labels; an ERROR has neither of the last', async (t) => {
  const { caller, sandbox } = await sandboxFor(t, { policy: POLICY });
  const ids = sandbox.makeDecisions([
    { content: 'hello', metadata: { user: '7', note: '' } },
    { content: 'buy, now', metadata: { user: '8', note: 'a\nb' } },
    { content: 'broken', metadata: { user: '9', note: 'x' } },
  ]);
  const decisions = await Promise.all(ids.map((id) => caller.decision(id)));
  const label = (applied: boolean) => [
    { name: 'ads', applied, explanation: applied ? 'It sells.' : 'No.' },
  ];
  assert.deepEqual(decisions, [
    {
      decision_id: ids[0],
      decision_status: 'SUCCESS',
      metadata: { user: '7', note: '' },
      result: 'ok',
      labels: label(false),
    },
    {
      decision_id: ids[1],
      decision_status: 'SUCCESS',
      metadata: { user: '8', note: 'a\nb' },
      result: 'bad',
      labels: label(true),
    },
    {
      decision_id: ids[2],
      decision_status: 'ERROR',
      metadata: { user: '9', note: 'x' },
      result: null,
      labels: null,
    },
  ]);
});

test('3.3 a decision is PENDING for the decision time', async (t) => {
  const clock = new HandClock();
  const policy = { ...POLICY, timing: { decisionTime: '5s' } };
  const { caller, sandbox } = await sandboxFor(t, { clock, policy });
  const [id = ''] = sandbox.makeDecisions([{ content: 'buy', metadata: { user: '8' } }]);
  for (const [ms, status] of [
    [0, 'PENDING'],
    [4_999, 'PENDING'],
    [1, 'SUCCESS'],
  ] as const) {
    clock.advance(ms);
    const { decision_status, result, labels, metadata } = await caller.decision(id);
    assert.equal(decision_status, status);
    assert.deepEqual(
      [result === null, labels === null],
      status === 'PENDING' ? [true, true] : [false, false],
    );
    assert.deepEqual(metadata, { user: '8' });
  }
});

test('404 for ids that name no decision, 401 without a key, 405 for another method', async (t) => {
  const { caller, sandbox } = await sandboxFor(t);
  sandbox.makeDecisions([{ decision_id: 'known' }]);
  for (const id of ['other', '%', '%2F', 'x-0', '']) {
    assert.equal((await caller.get(`/v1/decisions/${id}`)).status, 404, id);
  }
  assert.equal((await caller.get('/v1/decisions/known', {})).status, 401);
  assert.equal((await caller.control('GET', 'decisions')).status, 405);
});

test('decisions can be made without a batch: judged by the policy or as given, PENDING for the given time', async (t) => {
  const clock = new HandClock();
  const { caller, sandbox } = await sandboxFor(t, { clock, policy: POLICY });
  const labels = [{ name: 'x', applied: true, explanation: 'Told.' }];
  const reply = await caller.control('POST', 'decisions', [
    { content: 'buy this', metadata: { deep: [1, { a: null }] } },
    { decision_id: 'a/b ü', result: 'told', labels, pending: '5s' },
    { decision_id: 'error', decision_status: 'ERROR' },
    { decision_id: 'never', pending: 'always' },
  ]);
  const { decision_ids: ids } = JSON.parse(reply.text) as { decision_ids: string[] };
  assert.deepEqual(ids.slice(1), ['a/b ü', 'error', 'never']);
  const bought = await caller.decision(ids[0] ?? '');
  assert.deepEqual([bought.result, bought.metadata], ['bad', { deep: [1, { a: null }] }]);
  assert.equal((await caller.decision('a/b ü')).decision_status, 'PENDING');
  clock.advance(5_000);
  const told = {
    decision_id: 'a/b ü',
    decision_status: 'SUCCESS',
    metadata: {},
    result: 'told',
    labels,
  };
  assert.deepEqual(await caller.decision('a/b ü'), told);
  assert.equal((await caller.decision('error')).decision_status, 'ERROR');
  clock.advance(1_000_000_000);
  assert.equal((await caller.decision('never')).decision_status, 'PENDING');
  const wrong = await caller.control('POST', 'decisions', [
    { decision_id: 'good' },
    { decision_status: 'DONE' },
  ]);
  assert.deepEqual(
    [wrong.status, /\[1\]\.decision_status: found .*DONE/.test(wrong.text)],
    [400, true],
  );
  assert.equal((await caller.get('/v1/decisions/good')).status, 404);
  assert.deepEqual(sandbox.makeDecisions([{ decision_id: 'direct' }]), ['direct']);
});

test('get_decision, state: stuck PENDING and an unknown one, for one content type alone', async (t) => {
  const { caller, sandbox } = await sandboxFor(t);
  sandbox.makeDecisions([
    { decision_id: 'a', type: 'a' },
    { decision_id: 'b', type: 'b' },
  ]);
  sandbox.faults.append([
    { operation: 'get_decision', action: 'state', state: 'PENDING', match: { type: 'a' } },
    { operation: 'get_decision', action: 'state', state: 'ON_HOLD', match: { type: 'a' } },
  ]);
  for (const [id, status, result] of [
    ['b', 'SUCCESS', 'approved'],
    ['a', 'PENDING', null],
    ['a', 'ON_HOLD', null],
    ['a', 'SUCCESS', 'approved'],
  ] as const) {
    const decision = await caller.decision(id);
    assert.deepEqual([decision.decision_status, decision.result], [status, result]);
  }
});
