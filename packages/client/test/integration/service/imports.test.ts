import assert from 'node:assert/strict';
import test from 'node:test';
import { clientFor, httpServer, json, KEY, NEVER } from './servers.ts';

const CREATED = {
  import_id: 'i-1',
  import_status: 'WAITING_FOR_UPLOAD',
  upload_url: 'https://s3.example/u?X-Amz-Signature=s',
};

test('creating an import is a POST without a body, with the bearer key (4.3, 5)', async (t) => {
  const server = await httpServer(t, (response) => json(response, 200, CREATED));
  const { client, observer } = clientFor(t, server.url);
  assert.deepEqual(await client.createImport(NEVER), {
    importId: 'i-1',
    uploadUrl: CREATED.upload_url,
  });
  const [request] = server.seen;
  assert.equal(`${request?.method} ${request?.url}`, 'POST /v1/import');
  assert.equal(request?.headers.authorization, `Bearer ${KEY}`);
  assert.equal(request?.headers['content-type'], 'application/json');
  assert.deepEqual([request?.headers['content-length'], request?.body.length], ['0', 0]);
  assert.deepEqual([observer.requests, observer.orphans], [['create_import 200'], 0]);
});

test('the status is found in every place where the undocumented response may have it', async (t) => {
  const COMPLETE = 'COMPLETE';
  const bodies = [
    { import_status: COMPLETE },
    { import_id: 'i-1', status: COMPLETE, upload_url: null },
    { import: { import_id: 'i-1', import_status: COMPLETE, records: { total: 2 } } },
    { import_id: 'i-1', data: { import_status: COMPLETE } },
    { imports: [{ import_id: 'i-1', import_status: COMPLETE }], next: null },
    { status: 'success', data: { import_id: 'i-1', import_status: COMPLETE } },
    { status: 'success', data: { import_id: 'i-1', status: COMPLETE } },
    { status: COMPLETE, meta: { import_status: null, status: 'ok' } },
  ];
  const server = await httpServer(t, (response, _, index) => json(response, 200, bodies[index]));
  const { client } = clientFor(t, server.url);
  for (const body of bodies) {
    assert.equal((await client.getImport('i-1', NEVER)).status, COMPLETE, JSON.stringify(body));
  }
});

test('a response without a status, with two statuses, or about another import is a protocol error', async (t) => {
  const bodies = [
    {},
    { import_id: 'i-1' },
    { import_status: 3 },
    { a: { import_status: 'COMPLETE' }, b: { import_status: 'FAILED' } },
    { import_id: 'i-2', import_status: 'COMPLETE' },
    { import_id: 'i-2', data: { import_status: 'COMPLETE' } },
    [{ import_status: 'COMPLETE' }],
  ];
  const server = await httpServer(t, (response, _, index) => json(response, 200, bodies[index]));
  const { client } = clientFor(t, server.url);
  for (const body of bodies) {
    await assert.rejects(
      client.getImport('i-1', NEVER),
      { failure: 'protocol' },
      JSON.stringify(body),
    );
  }
});

test('the path of the status check is a template, and the id is escaped in it', async (t) => {
  const server = await httpServer(t, (response) =>
    json(response, 200, { import_status: 'COMPLETE' }),
  );
  for (const [importPath, expected] of [
    ['/v1/imports/{import_id}/status', '/v1/imports/a%2Fb%24%26/status'],
    ['/v2/import-status?id={import_id}', '/v2/import-status?id=a%2Fb%24%26'],
  ] as const) {
    await clientFor(t, server.url, { importPath }).client.getImport('a/b$&', NEVER);
    assert.equal(server.seen.at(-1)?.url, expected);
  }
  for (const importPath of [
    '',
    'v1/import/{import_id}',
    '/v1/import',
    '/v1/{id}/{import_id}',
    '/v1/{import_id}#x',
    '/a b/{import_id}',
  ]) {
    assert.throws(
      () => clientFor(t, server.url, { importPath }),
      /the path of the import status must/,
    );
  }
});
