import assert from 'node:assert/strict';
import test from 'node:test';
import { clientFor, httpServer, json, KEY, NEVER } from './servers.ts';

const CREATED = {
  batch_id: 'b-1',
  batch_status: 'WAITING_FOR_UPLOAD',
  upload_url: 'https://s3.example/u?X-Amz-Signature=s',
  download_url: null,
};
const COUNTS = {
  batch_count: 5,
  success_count: 3,
  pending_count: 0,
  error_count: 2,
  cancelled_count: 0,
};

test('creating a batch sends the type as JSON with the bearer key (4.1, 5)', async (t) => {
  const server = await httpServer(t, (response) => json(response, 200, CREATED));
  const { client, observer } = clientFor(t, server.url);
  assert.deepEqual(await client.createBatch('email', NEVER), {
    batchId: 'b-1',
    uploadUrl: CREATED.upload_url,
  });
  const [request] = server.seen;
  assert.equal(`${request?.method} ${request?.url}`, 'POST /v1/batches');
  assert.equal(request?.headers.authorization, `Bearer ${KEY}`);
  assert.equal(request?.headers['content-type'], 'application/json');
  assert.deepEqual(JSON.parse(request?.body.toString() ?? ''), { type: 'email' });
  assert.deepEqual(
    [observer.requests, observer.retries, observer.orphans],
    [['create_batch 200'], [], 0],
  );
});

test('a baseUrl that is not a plain http(s) address is rejected without being quoted', (t) => {
  for (const url of [
    '',
    'ftp://host',
    '/v1',
    'https://user:hunter22@host',
    'https://host/?key=hunter22',
    'https://host/#hunter22',
  ]) {
    assert.throws(
      () => clientFor(t, url),
      (error) =>
        error instanceof TypeError &&
        /baseUrl must/.test(error.message) &&
        !error.message.includes('hunter22'),
    );
  }
});

test('a created batch without a usable id or upload address is a protocol error, and may leave an orphan', async (t) => {
  const broken: [unknown, RegExp][] = [
    [{ ...CREATED, batch_id: undefined }, /batch_id is missing/],
    [{ ...CREATED, batch_id: '' }, /batch_id is missing/],
    [{ ...CREATED, batch_id: 12 }, /batch_id is 12, not text/],
    [{ ...CREATED, batch_id: { length: { toString: 1 } } }, /batch_id is Object, not text/],
    [{ ...CREATED, batch_id: '..' }, /batch_id is empty, "." or ".."/],
    [{ ...CREATED, batch_id: 'b'.repeat(1025) }, /batch_id is .* longer than 1024 characters/],
    [{ ...CREATED, upload_url: null }, /upload_url is null, not text/],
    [{ ...CREATED, upload_url: 'file:///etc/passwd' }, /upload_url is not an http\(s\) address/],
    [{ ...CREATED, upload_url: 'not an address' }, /upload_url is not an http\(s\) address/],
    [[CREATED], /not a JSON object/],
    [null, /not a JSON object/],
  ];
  for (const [body, expected] of broken) {
    const server = await httpServer(t, (response) => json(response, 200, body));
    const { client, observer } = clientFor(t, server.url);
    await assert.rejects(client.createBatch('email', NEVER), {
      failure: 'protocol',
      status: 200,
      message: expected,
    });
    assert.deepEqual([server.seen.length, observer.orphans], [1, 1]);
  }
});

test('retrieving a batch returns status, address and counts (4.2)', async (t) => {
  const body = {
    batch_id: 'b-1',
    type: 'email',
    batch_status: 'SUCCESS',
    upload_url: null,
    download_url: 'https://s3.example/d?sig=1',
    ...COUNTS,
  };
  const server = await httpServer(t, (response) => json(response, 200, body));
  assert.deepEqual(await clientFor(t, server.url).client.getBatch('b-1', NEVER), {
    batchId: 'b-1',
    type: 'email',
    status: 'SUCCESS',
    rawStatus: 'SUCCESS',
    downloadUrl: 'https://s3.example/d?sig=1',
    counts: { total: 5, success: 3, pending: 0, error: 2, cancelled: 0 },
  });
  const [request] = server.seen;
  assert.equal(`${request?.method} ${request?.url}`, 'GET /v1/batches/b-1');
  assert.equal(request?.headers.authorization, `Bearer ${KEY}`);
  assert.equal(request?.headers['content-type'], 'application/json');
  assert.equal(request?.body.length, 0);
});

test('a status is read in any case, and text that does not look like a status is not quoted', async (t) => {
  const statuses = [' success', 'Wating_For_Upload', '\u001b[31mmy secret content', 'x'.repeat(65)];
  const server = await httpServer(t, (response, _, index) =>
    json(response, 200, { batch_status: statuses[index] }),
  );
  const { client } = clientFor(t, server.url);
  const seen: unknown[] = [];
  for (const _ of statuses) {
    const { status, rawStatus } = await client.getBatch('b-1', NEVER);
    seen.push([status, rawStatus]);
  }
  assert.deepEqual(seen, [
    ['SUCCESS', 'success'],
    ['WAITING_FOR_UPLOAD', 'Wating_For_Upload'],
    [undefined, 'a status of 22 characters, which does not look like a status'],
    [undefined, 'a status of 65 characters, which does not look like a status'],
  ]);
});

test('a retrieved batch without a status, or with another id, is a protocol error', async (t) => {
  for (const body of [{ batch_id: 'b-1' }, { batch_id: 'b-2', batch_status: 'SUCCESS' }]) {
    const server = await httpServer(t, (response) => json(response, 200, body));
    await assert.rejects(clientFor(t, server.url).client.getBatch('b-1', NEVER), {
      failure: 'protocol',
    });
  }
});

test('an id is escaped into one path segment; one for which that is impossible is rejected without a call', async (t) => {
  const id = 'a/b?c#d %ü';
  const server = await httpServer(t, (response) =>
    json(response, 200, { batch_id: id, batch_status: 'PENDING' }),
  );
  const { client } = clientFor(t, server.url);
  assert.equal((await client.getBatch(id, NEVER)).rawStatus, 'PENDING');
  assert.equal(server.seen[0]?.url, `/v1/batches/${encodeURIComponent(id)}`);
  for (const bad of ['', '.', '..', '\ud800', 'x'.repeat(1025)])
    await assert.rejects(client.getBatch(bad, NEVER), { failure: 'rejected' });
  assert.equal(server.seen.length, 1);
});

test('without a usable key nothing is sent, and the error contains advice', async (t) => {
  const server = await httpServer(t, (response) => json(response, 200, CREATED));
  const unreadable = Object.assign(new Error('ENOENT: no such file /secret/hunter22'), {
    code: 'ENOENT',
  });
  const keys: [() => Promise<string>, RegExp][] = [
    [() => Promise.reject(unreadable), /could not be read \(ENOENT\); check that the API key/],
    [async () => '', /the API key is empty/],
    [async () => 'hunter22\n', /characters that are not allowed in a header/],
    [async () => 'hunter22é', /characters that are not allowed in a header/],
  ];
  for (const [apiKey, message] of keys) {
    const failed = clientFor(t, server.url, { apiKey }).client.createBatch('email', NEVER);
    await assert.rejects(
      failed,
      (error: Error) => message.test(error.message) && !error.message.includes('hunter22'),
    );
    await assert.rejects(failed, { failure: 'unauthorized' });
  }
  assert.equal(server.seen.length, 0);
});

test('beforeRequest is awaited before each request of a call, including retries, and before no transfer', async (t) => {
  const server = await httpServer(t, (response, _, index) =>
    index === 0 ? json(response, 503, {}) : json(response, 200, CREATED),
  );
  const { client } = clientFor(t, server.url);
  const seen: number[] = [];
  const beforeRequest = async () => {
    seen.push(server.seen.length);
  };
  const call = { ...NEVER, beforeRequest };
  const { batchId } = await client.createBatch('email', call);
  await client.getBatch(batchId, call);
  await client.upload(`${server.url}/u`, Buffer.from('x'), { ...call, contentType: 'text/csv' });
  assert.deepEqual([seen, server.seen.length], [[0, 1, 2], 4]);
  const refused = new Error('no turn');
  await assert.rejects(
    client.getDecision('d-1', { ...NEVER, beforeRequest: () => Promise.reject(refused) }),
    refused,
  );
});
