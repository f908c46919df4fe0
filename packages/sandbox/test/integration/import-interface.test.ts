/** The sandbox's imports against the service's interface. The numbers in the names are its sections. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { API_KEY, HandClock, raw, sandboxFor } from './caller.ts';

const JSONL =
  '{"type":"user","data":{"id":1}}\n{"type":"order","data":{"text":"two\\nlines 😀"}}\n';

test('2.4, 4.3 create: import_id is unique, import_status WAITING_FOR_UPLOAD, upload_url presigned, and nothing else', async (t) => {
  const { caller, sandbox } = await sandboxFor(t, { policy: { service: { teamId: 'team' } } });
  const reply = await caller.createImport();
  assert.equal(reply.status, 200);
  const { import_id, upload_url, ...rest } = JSON.parse(reply.text);
  assert.deepEqual(rest, { import_status: 'WAITING_FOR_UPLOAD' });
  assert.notEqual(import_id, (await caller.newImport()).import_id);
  const address = new URL(upload_url);
  assert.equal(address.origin, sandbox.baseUrl);
  assert.deepEqual(
    ['X-Amz-Expires', 'x-amz-meta-import_id', 'x-amz-meta-team_id'].map((name) =>
      address.searchParams.get(name),
    ),
    ['3600', import_id, 'team'],
  );
});

test('4.3 create takes no body and no other method; 5 it needs a key', async (t) => {
  const { caller, sandbox } = await sandboxFor(t);
  const headers = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' };
  assert.equal((await caller.createImport(headers, '{}')).status, 400);
  assert.equal((await caller.get('/v1/import')).status, 405);
  assert.equal((await caller.createImport({})).status, 401);
  assert.equal((await caller.get('/v1/import/other')).status, 404);
  assert.equal((await caller.get('/v1/import/other', {})).status, 401);
  assert.equal(sandbox.imports().length, 0);
});

test('2.4 the address is valid for its time, for a PUT of application/jsonl and for this import only', async (t) => {
  const clock = new HandClock();
  const { caller } = await sandboxFor(t, { clock });
  const { upload_url } = await caller.newImport();
  assert.match((await caller.upload(upload_url, JSONL)).text, /SignatureDoesNotMatch/);
  assert.equal((await raw('GET', upload_url, { 'content-type': 'application/jsonl' })).status, 403);
  const [, id = ''] = /imports\/(.+)\.jsonl/.exec(upload_url) ?? [];
  const other = upload_url.replace(id, (await caller.newImport()).import_id);
  assert.match((await caller.uploadJsonl(other, JSONL)).text, /SignatureDoesNotMatch/);
  clock.advance(3_600_000 - 1);
  assert.equal((await caller.uploadJsonl(upload_url, JSONL)).status, 200);
  clock.advance(1);
  assert.match((await caller.uploadJsonl(upload_url, JSONL)).text, /Request has expired/);
});

test('3.2, 4.4 an import waits for its upload, is IN_PROGRESS for the import time, then COMPLETE with its records', async (t) => {
  const clock = new HandClock();
  const policy = { timing: { storageEventDelay: '5s', importTime: '10s' } };
  const { caller, sandbox } = await sandboxFor(t, { clock, policy });
  const { import_id, upload_url } = await caller.newImport();
  await caller.uploadJsonl(upload_url, JSONL);
  const waiting = { import_id, import_status: 'WAITING_FOR_UPLOAD', record_count: 0 };
  assert.deepEqual(await caller.retrieveImport(import_id), waiting);
  clock.advance(5_000);
  while (sandbox.imports()[0]?.records === 0) await caller.retrieveImport(import_id);
  clock.advance(9_999);
  assert.deepEqual(await caller.retrieveImport(import_id), {
    import_id,
    import_status: 'IN_PROGRESS',
    record_count: 2,
  });
  clock.advance(1);
  assert.deepEqual(await caller.retrieveImport(import_id), {
    import_id,
    import_status: 'COMPLETE',
    record_count: 2,
  });
  assert.equal((await caller.uploadJsonl(upload_url, '{}')).status, 200);
  assert.equal((await caller.retrieveImport(import_id)).import_status, 'COMPLETE');
});

test('2.5 a file that is not JSON Lines of {type, data}, or that the policy fails, ends in FAILED with a reason', async (t) => {
  const fail = [{ type: 'user', contains: 'poison' }];
  const { caller, sandbox } = await sandboxFor(t, {
    policy: { imports: { types: ['user', 'order'], fail } },
  });
  for (const [jsonl, problem] of [
    ['', /the upload is empty/],
    [`${JSONL}oops\n`, /^line 3 is not JSON$/],
    [`${JSONL}{"type":"user","data":{},"x":1}\n`, /^line 3 has fields other than type and data$/],
    [
      '{"type":"guest","data":{}}\n',
      /^line 1: records of this type are not imported here; known are user, order$/,
    ],
    ['{"type":"user","data":{"a":"POISON"}}', /^line 1: a rule of the policy fails/],
  ] as const) {
    await caller.imported(jsonl, 'FAILED');
    assert.match(sandbox.imports().at(-1)?.problem ?? '', problem);
  }
  await caller.imported('{"type":"order","data":{"a":"poison"}}');
});

test('checkers see every import and its content, without a key', async (t) => {
  const { caller, sandbox } = await sandboxFor(t);
  const id = await caller.imported(JSONL);
  const { import_id } = await caller.newImport();
  const inside = JSON.parse((await caller.control('GET', 'imports')).text);
  assert.deepEqual(inside.totals, { imports: 2, uploads: 1, records: 2 });
  assert.deepEqual(inside.imports, sandbox.imports());
  const [{ created, uploaded, finished, ...first }] = inside.imports;
  assert.deepEqual(first, {
    import_id: id,
    import_status: 'COMPLETE',
    records: 2,
    fault: null,
    problem: null,
    traceparent: null,
  });
  assert.ok(
    Date.parse(created) <= Date.parse(uploaded) && Date.parse(uploaded) <= Date.parse(finished),
  );
  const content = await caller.control('GET', `imports/${id}/content`);
  assert.deepEqual([content.text, content.headers['content-type']], [JSONL, 'application/jsonl']);
  assert.equal((await caller.control('GET', `imports/${import_id}/content`)).status, 404);
});

test('faults of batches strike no import, and the other way round', async (t) => {
  const { caller, sandbox } = await sandboxFor(t);
  sandbox.faults.append([
    { operation: 'upload', action: 'hang' },
    { operation: 'review', action: 'batch_error' },
    { operation: 'upload_import', action: 'hang', match: { type: 'comment' } },
  ]);
  await caller.imported(JSONL);
  assert.ok(sandbox.faults.entries().every(({ fired }) => fired === 0));
  sandbox.faults.replace([
    { operation: 'upload_import', action: 'hang' },
    { operation: 'ingest', action: 'import_failed' },
  ]);
  await caller.reviewed('Content\nhello\n');
  assert.ok(sandbox.faults.entries().every(({ fired }) => fired === 0));
});
