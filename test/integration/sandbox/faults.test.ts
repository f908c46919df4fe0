/** Every scripted fault, as a caller meets it. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { parse } from 'csv-parse/sync';
import type { FaultInput } from '../../../src/sandbox/faults/schema.ts';
import { FAULT_ACTIONS } from '../../../src/sandbox/faults/schema.ts';
import { eventually } from '../../support/eventually.ts';
import { type Caller, raw, sandboxFor } from './caller.ts';

const CSV = `Content,ref\n${Array.from({ length: 20 }, (_, n) => `text ${n},${n}`).join('\n')}\n`;
const JSONL = '{"type":"user","data":{"id":1}}\n{"type":"order","data":{}}\n';
const tested = new Set<string>();

async function withFault(t: TestContext, fault: FaultInput) {
  tested.add(fault.action);
  const { sandbox, caller } = await sandboxFor(t, { policy: { faults: [fault] } });
  t.after(() =>
    assert.equal(sandbox.faults.entries()[0]?.fired, fault.times ?? 1, 'the fault did not strike'),
  );
  return { sandbox, caller };
}

/** Runs one operation against a batch that is ready for it. */
const perform = {
  create_batch: async (caller: Caller) => caller.post({ type: 'comment' }),
  get_batch: async (caller: Caller) =>
    caller.get(`/v1/batches/${(await caller.create()).batch_id}`),
  upload: async (caller: Caller) => caller.upload((await caller.create()).upload_url, CSV),
  download: async (caller: Caller) => caller.results(await caller.reviewed(CSV)),
  create_import: async (caller: Caller) => caller.createImport(),
  get_import: async (caller: Caller) =>
    caller.get(`/v1/import/${(await caller.newImport()).import_id}`),
  get_decision: async (caller: Caller) => {
    await caller.control('POST', 'decisions', [{ decision_id: 'made' }]);
    return caller.get('/v1/decisions/made');
  },
  upload_import: async (caller: Caller) =>
    caller.uploadJsonl((await caller.newImport()).upload_url, JSONL),
};
const OPERATIONS = Object.keys(perform) as (keyof typeof perform)[];

for (const operation of OPERATIONS) {
  test(`${operation}, latency: the answer is right and late`, async (t) => {
    const { caller } = await withFault(t, { operation, action: 'latency', delay: '150ms' });
    const begin = performance.now();
    assert.equal((await perform[operation](caller)).status, 200);
    assert.ok(performance.now() - begin >= 149);
  });

  test(`${operation}, answer: 429 with Retry-After, 503, 401, 400 and 403 instead of the effect`, async (t) => {
    for (const status of [429, 503, 401, 400, 403]) {
      const { caller } = await withFault(t, {
        operation,
        action: 'answer',
        status,
        retryAfter: '1500ms',
        code: 'SlowDown',
      });
      const reply = await perform[operation](caller);
      assert.deepEqual([reply.status, reply.headers['retry-after']], [status, '2']);
      const isTransfer = /^upload|^download/.test(operation);
      assert.match(reply.text, isTransfer ? /<Code>SlowDown<\/Code>/ : /"code":"SlowDown"/);
      assert.equal((await perform[operation](caller)).status, 200);
    }
  });

  test(`${operation}, reset_before and reset_after: the connection is reset`, async (t) => {
    for (const action of ['reset_before', 'reset_after'] as const) {
      const { caller } = await withFault(t, { operation, action });
      await assert.rejects(perform[operation](caller), { code: /^(ECONNRESET|EPIPE)$/ });
      assert.equal((await perform[operation](caller)).status, 200);
    }
  });

  test(`${operation}, hang: no headers come while the caller waits`, async (t) => {
    const { caller, sandbox } = await withFault(t, { operation, action: 'hang' });
    const hanging = perform[operation](caller).then(
      () => 'answered',
      () => 'broken',
    );
    // What comes before the request may take longer on a busy machine.
    await eventually('the fault strikes', () => sandbox.faults.entries()[0]?.fired === 1);
    const patience = new Promise((resolve) => setTimeout(resolve, 150, 'waited'));
    assert.equal(await Promise.race([hanging, patience]), 'waited');
  });
}

test('create_batch, reset_before has no effect; reset_after makes the batch: done, reply lost', async (t) => {
  for (const [action, batches] of [
    ['reset_before', 0],
    ['reset_after', 1],
  ] as const) {
    const { caller, sandbox } = await withFault(t, { operation: 'create_batch', action });
    await assert.rejects(caller.post({ type: 'a' }));
    assert.equal(sandbox.batches().length, batches);
  }
});

test('upload, reset_before leaves no object; reset_after stores it and the review runs: done, reply lost', async (t) => {
  for (const [action, status] of [
    ['reset_before', 'WAITING_FOR_UPLOAD'],
    ['reset_after', 'SUCCESS'],
  ] as const) {
    const { caller } = await withFault(t, { operation: 'upload', action });
    const { batch_id, upload_url } = await caller.create();
    await assert.rejects(caller.upload(upload_url, CSV));
    await caller.until(batch_id, status);
  }
});

test('answer: body and headers can be anything, such as a 200 that is not JSON', async (t) => {
  const fault = {
    operation: 'get_batch',
    action: 'answer',
    status: 200,
    body: '<html>',
    headers: { 'content-type': 'text/html' },
  } as const;
  const { caller } = await withFault(t, fault);
  const reply = await perform.get_batch(caller);
  assert.deepEqual(
    [reply.status, reply.text, reply.headers['content-type']],
    [200, '<html>', 'text/html'],
  );
});

test('upload and download, slow: the bytes come no faster than the rate', async (t) => {
  for (const operation of ['upload', 'download'] as const) {
    const { caller } = await withFault(t, {
      operation,
      action: 'slow',
      bytesPerSecond: CSV.length * 5,
    });
    const begin = performance.now();
    assert.equal((await perform[operation](caller)).status, 200);
    assert.ok(performance.now() - begin >= 150);
  }
});

test('create_batch, state: the variant WATING_FOR_UPLOAD of the document', async (t) => {
  const { caller } = await withFault(t, {
    operation: 'create_batch',
    action: 'state',
    state: 'WATING_FOR_UPLOAD',
  });
  assert.equal((await caller.create()).batch_status, 'WATING_FOR_UPLOAD');
  assert.equal((await caller.create()).batch_status, 'WAITING_FOR_UPLOAD');
});

test('get_batch, state: an unknown state, without download address', async (t) => {
  const { caller } = await withFault(t, {
    operation: 'get_batch',
    action: 'state',
    state: 'ARCHIVED',
    times: 2,
  });
  const { batch_id } = await caller.create();
  for (const status of ['ARCHIVED', 'ARCHIVED', 'WAITING_FOR_UPLOAD']) {
    const { batch_status, download_url } = await caller.retrieve(batch_id);
    assert.deepEqual([batch_status, download_url], [status, null]);
  }
});

test('create_batch, expired_url: the upload address has expired, that of the next batch has not', async (t) => {
  const { caller } = await withFault(t, { operation: 'create_batch', action: 'expired_url' });
  const reply = await caller.upload((await caller.create()).upload_url, CSV);
  assert.equal(reply.status, 403);
  assert.match(reply.text, /Request has expired/);
  assert.equal((await perform.upload(caller)).status, 200);
});

test('get_batch, expired_url: the download address has expired, the next one is valid', async (t) => {
  const { caller, sandbox } = await sandboxFor(t);
  tested.add('expired_url');
  const { batch_id } = await caller.reviewed(CSV);
  sandbox.faults.append([{ operation: 'get_batch', action: 'expired_url' }]);
  assert.match((await caller.results(await caller.retrieve(batch_id))).text, /Request has expired/);
  assert.equal((await caller.results(await caller.retrieve(batch_id))).status, 200);
});

test('create_batch, repeat_id: the batch before is given out again', async (t) => {
  const { caller, sandbox } = await withFault(t, {
    operation: 'create_batch',
    action: 'repeat_id',
    skip: 1,
  });
  const first = await caller.create();
  assert.equal((await caller.create()).batch_id, first.batch_id);
  assert.notEqual((await caller.create()).batch_id, first.batch_id);
  assert.equal(sandbox.batches().length, 2);
});

test('create_batch, repeat_id: a fault for one content type gives out a batch of that type, whatever came between', async (t) => {
  const { caller } = await withFault(t, {
    operation: 'create_batch',
    action: 'repeat_id',
    skip: 1,
    match: { type: 'comment' },
  });
  const first = await caller.create('comment');
  await caller.create('message');
  assert.equal((await caller.create('comment')).batch_id, first.batch_id);
});

test('upload, late_event: the batch stays WAITING_FOR_UPLOAD for a while after its upload', async (t) => {
  const { caller } = await withFault(t, { operation: 'upload', action: 'late_event', by: '200ms' });
  const { batch_id, upload_url } = await caller.create();
  const begin = performance.now();
  assert.equal((await caller.upload(upload_url, CSV)).status, 200);
  assert.equal((await caller.retrieve(batch_id)).batch_status, 'WAITING_FOR_UPLOAD');
  await caller.until(batch_id, 'SUCCESS');
  assert.ok(performance.now() - begin >= 199);
});

test('download, cut: the connection ends within the body that Content-Length promised', async (t) => {
  for (const afterBytes of [0, 100]) {
    const { caller } = await withFault(t, { operation: 'download', action: 'cut', afterBytes });
    const batch = await caller.reviewed(CSV);
    await assert.rejects(caller.results(batch), { code: 'ECONNRESET', received: afterBytes });
    assert.equal((await caller.results(batch)).status, 200);
  }
});

test('download, short: the file ends early and looks whole', async (t) => {
  const { caller } = await withFault(t, { operation: 'download', action: 'short', bytes: 100 });
  const batch = await caller.reviewed(CSV);
  const short = await caller.results(batch);
  const whole = await caller.results(batch);
  assert.deepEqual([short.status, short.headers['content-length']], [200, '100']);
  assert.equal(short.text, whole.text.slice(0, 100));
});

test('review, stuck: PENDING with its rows, for a while or permanently', async (t) => {
  const { caller, sandbox } = await withFault(t, { operation: 'review', action: 'stuck' });
  const { batch_id, upload_url } = await caller.create();
  await caller.upload(upload_url, CSV);
  while (sandbox.batches()[0]?.rows === 0) await caller.retrieve(batch_id);
  assert.equal((await caller.reviewed(CSV)).batch_count, 20);
  const stuck = await caller.retrieve(batch_id);
  assert.deepEqual([stuck.batch_status, stuck.pending_count], ['PENDING', 20]);
  sandbox.faults.append([{ operation: 'review', action: 'stuck', for: '150ms' }]);
  const begin = performance.now();
  await caller.reviewed(CSV);
  assert.ok(performance.now() - begin >= 149);
});

test('review, batch_error and batch_cancelled: the batch ends so, with its rows counted there and no results', async (t) => {
  const failed = await withFault(t, { operation: 'review', action: 'batch_error' });
  const error = await failed.caller.reviewed(CSV, 'a', 'ERROR');
  assert.deepEqual([error.error_count, error.batch_count, error.download_url], [20, 20, null]);
  const stopped = await withFault(t, { operation: 'review', action: 'batch_cancelled' });
  const cancelled = await stopped.caller.reviewed(CSV, 'a', 'CANCELLED');
  assert.deepEqual(
    [cancelled.cancelled_count, cancelled.batch_count, cancelled.download_url],
    [20, 20, null],
  );
});

test('review, rows: the file is spoiled, the counts of the batch are right', async (t) => {
  const { caller } = await withFault(t, {
    operation: 'review',
    action: 'rows',
    missing: 2,
    duplicated: 3,
    malformed: 4,
    unknown: 5,
    shuffled: true,
    columns: { Reviewer: 'someone' },
  });
  const batch = await caller.reviewed(CSV);
  assert.equal(batch.success_count, 20);
  const rows: Record<string, string>[] = parse((await caller.results(batch)).text, {
    columns: true,
  });
  const refs = rows.map(({ ref }) => ref ?? '');
  assert.equal(rows.length, 20 - 2 + 3 + 5);
  assert.equal(refs.filter((ref) => ref === '{"broken').length, 4);
  assert.equal(refs.filter((ref) => Number(ref) >= 1_000_000_000).length, 5);
  assert.equal(new Set(refs.filter((ref) => Number(ref) < 20)).size, 20 - 2 - 4);
  assert.ok(rows.every(({ Reviewer }) => Reviewer === 'someone'));
});

test('review, rows: columns are left out by their headers, and a row has a quote that never closes', async (t) => {
  const { caller } = await withFault(t, {
    operation: 'review',
    action: 'rows',
    dropped: ['ref', 'Status'],
    unclosed: 'text 19',
  });
  const { text } = await caller.results(await caller.reviewed(CSV));
  const [header, ...rows] = text.trimEnd().split('\n');
  assert.equal(header, 'Content,Sandbox result,Expected result,Labels');
  assert.deepEqual([rows[18], rows[19]], ['text 18,approved,,[]', '"text 19,approved,,[]']);
});

test('review, file: a web page, a header alone or a row of commas, while the counts of the batch are right', async (t) => {
  for (const [as, expected] of [
    ['html', /^<!DOCTYPE html>.*<\/html>\n$/s],
    ['header_only', /^Content,Status[^\n]*,ref\n$/],
    ['commas', /^Content,Status[^\n]*,ref\n,{70000}\n$/],
  ] as const) {
    const { caller } = await withFault(t, {
      operation: 'review',
      action: 'file',
      as,
      bytes: 70_000,
    });
    const batch = await caller.reviewed(CSV);
    assert.equal(batch.success_count, 20);
    assert.match((await caller.results(batch)).text, expected);
  }
});

test('get_batch, quote: content stands in an error message, or as the status', async (t) => {
  const { caller, sandbox } = await sandboxFor(t);
  tested.add('quote');
  const { batch_id } = await caller.reviewed(CSV);
  sandbox.faults.append([
    { operation: 'get_batch', action: 'quote' },
    { operation: 'get_batch', action: 'quote', in: 'state' },
  ]);
  const refused = await caller.get(`/v1/batches/${batch_id}`);
  assert.equal(refused.status, 400);
  assert.match(refused.text, /batch row 1 cannot be reviewed: text 0,0/);
  assert.match((await caller.retrieve(batch_id)).batch_status, /^text 0,0\ntext 1,1/);
});

test('create_import: a state, an expired address and the import before again', async (t) => {
  const state = await withFault(t, {
    operation: 'create_import',
    action: 'state',
    state: 'ON_HOLD',
  });
  assert.equal((await state.caller.newImport()).import_status, 'ON_HOLD');
  const expired = await withFault(t, { operation: 'create_import', action: 'expired_url' });
  assert.match((await perform.upload_import(expired.caller)).text, /Request has expired/);
  assert.equal((await perform.upload_import(expired.caller)).status, 200);
  const repeat = await withFault(t, { operation: 'create_import', action: 'repeat_id', skip: 1 });
  const first = await repeat.caller.newImport();
  assert.equal((await repeat.caller.newImport()).import_id, first.import_id);
  assert.equal(repeat.sandbox.imports().length, 1);
});

test('create_import and upload_import, reset_before and reset_after: without the effect and with it', async (t) => {
  for (const [action, imports] of [
    ['reset_before', 0],
    ['reset_after', 1],
  ] as const) {
    const create = await withFault(t, { operation: 'create_import', action });
    await assert.rejects(create.caller.createImport());
    assert.equal(create.sandbox.imports().length, imports);
    const { caller } = await withFault(t, { operation: 'upload_import', action });
    const { import_id, upload_url } = await caller.newImport();
    await assert.rejects(caller.uploadJsonl(upload_url, JSONL));
    await caller.untilImport(import_id, imports === 0 ? 'WAITING_FOR_UPLOAD' : 'COMPLETE');
  }
});

test('get_import, state: an unknown one; upload_import, late_event and slow', async (t) => {
  const state = await withFault(t, { operation: 'get_import', action: 'state', state: 'ARCHIVED' });
  const { import_id } = await state.caller.newImport();
  assert.equal((await state.caller.retrieveImport(import_id)).import_status, 'ARCHIVED');
  assert.equal((await state.caller.retrieveImport(import_id)).import_status, 'WAITING_FOR_UPLOAD');
  for (const fault of [
    { action: 'late_event', by: '200ms' },
    { action: 'slow', bytesPerSecond: JSONL.length * 5 },
  ] as const) {
    const { caller } = await withFault(t, { operation: 'upload_import', ...fault });
    const begin = performance.now();
    await caller.imported(JSONL);
    assert.ok(performance.now() - begin >= 150);
  }
});

test('ingest, import_failed: FAILED with its records counted; stuck: IN_PROGRESS, for a while or permanently', async (t) => {
  const failed = await withFault(t, { operation: 'ingest', action: 'import_failed' });
  await failed.caller.imported(JSONL, 'FAILED');
  await failed.caller.imported(JSONL);
  const [one] = failed.sandbox.imports();
  assert.deepEqual([one?.fault, one?.records, one?.problem], ['import_failed', 2, null]);
  const { caller, sandbox } = await withFault(t, { operation: 'ingest', action: 'stuck' });
  const { import_id, upload_url } = await caller.newImport();
  await caller.uploadJsonl(upload_url, JSONL);
  sandbox.faults.append([{ operation: 'ingest', action: 'stuck', for: '150ms' }]);
  const begin = performance.now();
  await caller.imported(JSONL);
  assert.ok(performance.now() - begin >= 149);
  assert.equal((await caller.retrieveImport(import_id)).import_status, 'IN_PROGRESS');
});

test('a refused request uses up no fault', async (t) => {
  const { caller } = await withFault(t, {
    operation: 'create_batch',
    action: 'answer',
    status: 503,
  });
  assert.equal((await caller.post({})).status, 400);
  assert.equal(
    (await caller.post({ type: 'a' }, { 'content-type': 'application/json' })).status,
    401,
  );
  assert.equal((await caller.post({ type: 'a' })).status, 503);
});

test('faults can be set, added and watched while running, over the control endpoint', async (t) => {
  const { caller } = await sandboxFor(t);
  const hit = {
    operation: 'create_batch',
    action: 'answer',
    status: 503,
    match: { type: 'image' },
  };
  assert.equal((await caller.control('PUT', 'faults', [hit])).status, 200);
  assert.equal(
    (await caller.control('POST', 'faults', [{ ...hit, status: 500, match: {} }])).status,
    200,
  );
  const statuses: number[] = [];
  for (const type of ['text', 'image', 'image'])
    statuses.push((await caller.post({ type })).status);
  assert.deepEqual(statuses, [500, 503, 200]);
  const { faults } = JSON.parse((await caller.control('GET', 'faults')).text);
  assert.deepEqual(
    faults.map(({ fired }: { fired: number }) => fired),
    [1, 1],
  );
  const wrong = await caller.control('PUT', 'faults', [{ operation: 'upload', action: 'explode' }]);
  assert.equal(wrong.status, 400);
  assert.match(wrong.text, /\[0\]\.action: found .*explode.*; allowed: one of latency/);
});

test('health and batches can be looked at without a key', async (t) => {
  const { caller, sandbox } = await sandboxFor(t);
  assert.equal((await caller.control('GET', 'health')).text, '{"status":"ok"}');
  const { batch_id } = await caller.reviewed(CSV);
  await caller.create('image');
  const inside = JSON.parse((await caller.control('GET', 'batches')).text);
  assert.deepEqual(inside.totals, { batches: 2, uploads: 1, rows: 20 });
  assert.deepEqual(inside.batches, sandbox.batches());
  const [{ created, uploaded, finished, ...first }] = inside.batches;
  assert.deepEqual(first, {
    batch_id,
    type: 'comment',
    batch_status: 'SUCCESS',
    rows: 20,
    error_rows: 0,
    fault: null,
    problem: null,
    traceparent: null,
  });
  assert.ok(Date.parse(created) <= Date.parse(uploaded));
  assert.ok(Date.parse(uploaded) <= Date.parse(finished));
  assert.equal((await caller.control('DELETE', 'batches')).status, 405);
  assert.equal((await raw('GET', `${caller.baseUrl}/sandbox/other`)).status, 404);
});

test('every action of the script was tested above', () => {
  assert.deepEqual([...tested].toSorted(), [...FAULT_ACTIONS].toSorted());
});
