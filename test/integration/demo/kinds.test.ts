/** Input and expected outcomes of each pipeline of the demo. */
import assert from 'node:assert/strict';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { importDemo, NOT_IN_FILE, type Receipt } from '../../../dev/demo/import.ts';
import { type DemoRecord, FAILED, METADATA_CHANGED, WRONG } from '../../../dev/demo/judge.ts';
import { type LookedUp, lookupDemo } from '../../../dev/demo/lookup.ts';
import type { Sandbox } from '../../../dev/demo/pipeline.ts';
import { reviewDemo } from '../../../dev/demo/review.ts';
import { source } from './fixtures.ts';

const COMMON = {
  id: '',
  status: 'SUCCESS',
  error: null,
  source: source('', 0, 0),
  decided_at: '2026-01-01T00:00:01.000Z',
};

/** Answers as the sandbox does to what the demo asks of it. */
async function standIn(importFile: string): Promise<Sandbox> {
  let made = 0;
  const server = createServer(async (request: IncomingMessage, response) => {
    for await (const _ of request);
    if (request.method === 'POST') response.end(JSON.stringify({ decision_ids: [`d-${made++}`] }));
    else if (request.url === '/sandbox/imports/i-1/content') response.end(importFile);
    else response.writeHead(404).end();
  }).listen(0, '127.0.0.1');
  after(() => server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    signal: new AbortController().signal,
  };
}

test('each pipeline gets its announced number of records, poison included, and the same every time except for ids', async () => {
  const sandbox = await standIn('');
  for (const kind of [reviewDemo, importDemo, lookupDemo]) {
    const records = await all<unknown>(kind.records(sandbox));
    assert.equal(records.length, kind.total, kind.name);
    const reasons = records.flatMap(({ expected }) =>
      'deadLetter' in expected ? [expected.deadLetter] : [],
    );
    assert.ok(reasons.length >= 4, kind.name);
    const again = await all<unknown>(kind.records(sandbox));
    assert.deepEqual(
      records.map(({ key }) => key),
      again.map(({ key }) => key),
    );
  }
});

test('records to import have unique ids and both types', async () => {
  const records = await all(importDemo.records(await standIn('')));
  const good = records.flatMap(({ expected }) => ('outcome' in expected ? [expected.outcome] : []));
  assert.equal(new Set(good.map(({ data }) => data.id)).size, good.length);
  assert.deepEqual(new Set(good.map(({ type }) => type)), new Set(['account', 'report']));
});

test('a receipt must name a complete import whose file has exactly this record', async () => {
  const record = { type: 'account', data: { id: 'a@example.com', message: { id: '007' } } };
  const expected = { ...record, title: '' };
  const receipt: Receipt = { ...COMMON, import_id: 'i-1', import_status: 'COMPLETE' };
  const problems = async (file: unknown, changes: Partial<Receipt> = {}) => {
    const sandbox = await standIn(
      `{"type":"report","data":{"id":"other"}}\n${JSON.stringify(file)}\n`,
    );
    const outcome = { ...receipt, ...changes };
    return (await importDemo.checker([outcome], sandbox))(expected, outcome);
  };
  assert.deepEqual(await problems(record), []);
  assert.deepEqual(await problems({ ...record, data: { ...record.data, message: { id: 7 } } }), [
    NOT_IN_FILE,
  ]);
  assert.deepEqual(await problems({ ...record, type: 'report' }), [NOT_IN_FILE]);
  assert.deepEqual(await problems({ ...record, data: { ...record.data, id: 'b@example.com' } }), [
    NOT_IN_FILE,
  ]);
  assert.deepEqual(await problems(record, { import_id: 'i-2' }), [NOT_IN_FILE]);
  assert.deepEqual(await problems(record, { import_id: null }), [NOT_IN_FILE]);
  assert.deepEqual(await problems(record, { import_status: 'FAILED' }), [FAILED]);
  assert.deepEqual(await problems(record, { status: 'ERROR' }), [FAILED]);
});

test('a looked-up decision must be the requested one, and end as at the service', async () => {
  const check = await lookupDemo.checker([], await standIn(''));
  const expected = { decisionId: 'd-1', metadata: { n: 1 }, title: '' } as const;
  const found: LookedUp = {
    ...COMMON,
    decision_id: 'd-1',
    decision_status: 'SUCCESS',
    result: 'spam',
    labels: [],
    metadata: { n: 1 },
  };
  const error = (code: string) => ({ status: 'ERROR', result: null, error: { code, message: '' } });
  const failed = { ...found, ...error('review_failed'), decision_status: 'ERROR' };
  const unknown = { ...found, ...error('decision_unknown'), decision_status: null, metadata: {} };
  const ends = { decided: found, failed, unknown };
  for (const [wanted, right] of Object.entries(ends) as [keyof typeof ends, LookedUp][]) {
    for (const [end, outcome] of Object.entries(ends)) {
      assert.deepEqual(
        check({ ...expected, end: wanted }, outcome),
        end === wanted ? [] : [WRONG],
        `${wanted}, ${end}`,
      );
    }
    assert.deepEqual(check({ ...expected, end: wanted }, { ...right, decision_id: 'd-2' }), [
      WRONG,
    ]);
  }
  assert.deepEqual(check({ ...expected, end: 'decided' }, { ...found, metadata: { n: '1' } }), [
    METADATA_CHANGED,
  ]);
  assert.deepEqual(check({ ...expected, end: 'decided' }, { ...found, result: null }), [WRONG]);
});

async function all<E>(records: AsyncIterable<DemoRecord<E>>): Promise<DemoRecord<E>[]> {
  const list: DemoRecord<E>[] = [];
  for await (const record of records) list.push(record);
  return list;
}
