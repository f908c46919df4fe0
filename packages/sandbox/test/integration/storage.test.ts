/** The storage against the answers that S3 was measured to give (packages/sandbox/README.md, table of the storage). */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Reply, raw, sandboxFor } from './caller.ts';

const CSV = 'Content,user\nhello,7\n';
const sha256 = (text: string) => createHash('sha256').update(text);

function codeOf(reply: Reply): string {
  assert.equal(reply.headers['content-type'], 'application/xml');
  return `${reply.status} ${/<Code>(\w+)<\/Code>/.exec(reply.text)?.[1]}`;
}

async function created(t: TestContext) {
  const { caller, sandbox } = await sandboxFor(t);
  return { caller, sandbox, ...(await caller.create()) };
}

test('PUT without Content-Length (chunked): 411 MissingContentLength', async (t) => {
  const { upload_url } = await created(t);
  assert.equal(
    codeOf(
      await raw(
        'PUT',
        upload_url,
        { 'content-type': 'text/csv', 'transfer-encoding': 'chunked' },
        CSV,
      ),
    ),
    '411 MissingContentLength',
  );
});

test('PUT with another Content-Type than signed, or none: 403 SignatureDoesNotMatch', async (t) => {
  const { caller, upload_url } = await created(t);
  for (const type of ['text/plain;charset=UTF-8', 'text/csv; charset=utf-8']) {
    assert.equal(
      codeOf(await caller.upload(upload_url, CSV, { 'content-type': type })),
      '403 SignatureDoesNotMatch',
    );
  }
  assert.equal(codeOf(await raw('PUT', upload_url, {}, CSV)), '403 SignatureDoesNotMatch');
});

test('an x-amz-* header that was not signed: 403 AccessDenied', async (t) => {
  const { caller, upload_url } = await created(t);
  assert.equal(
    codeOf(await caller.upload(upload_url, CSV, { 'x-amz-acl': 'private' })),
    '403 AccessDenied',
  );
});

test('an Authorization header beside the address: 400 InvalidArgument', async (t) => {
  const { caller, upload_url } = await created(t);
  const reply = await caller.upload(upload_url, CSV, { authorization: 'Bearer test-key' });
  assert.equal(codeOf(reply), '400 InvalidArgument');
  assert.match(reply.text, /Only one auth mechanism allowed/);
});

test('an expired address: 403 AccessDenied, Request has expired; a tampered one: another code', async (t) => {
  const { caller } = await sandboxFor(t, { policy: { timing: { uploadUrlValidity: 0 } } });
  const { upload_url } = await caller.create();
  const reply = await caller.upload(upload_url, CSV);
  assert.equal(codeOf(reply), '403 AccessDenied');
  assert.match(reply.text, /<Message>Request has expired<\/Message>/);
  const tampered = upload_url.replace('X-Amz-Expires=0', 'X-Amz-Expires=900');
  assert.equal(codeOf(await caller.upload(tampered, CSV)), '403 SignatureDoesNotMatch');
});

test('PUT: 200 with the hash as ETag; the same PUT again: 200 again, and one review', async (t) => {
  const { caller, sandbox, batch_id, upload_url } = await created(t);
  const etag = `"${sha256(CSV).digest('hex')}"`;
  for (let time = 0; time < 2; time++) {
    const reply = await caller.upload(upload_url, CSV);
    assert.deepEqual([reply.status, reply.headers.etag, reply.text], [200, etag, '']);
    await caller.until(batch_id, 'SUCCESS');
  }
  assert.deepEqual(
    sandbox.batches().map(({ rows }) => rows),
    [1],
  );
});

test('another upload before the storage event of the first one replaces it; later ones change nothing', async (t) => {
  const { caller } = await sandboxFor(t, { policy: { timing: { storageEventDelay: '200ms' } } });
  const { batch_id, upload_url } = await caller.create();
  await caller.upload(upload_url, CSV);
  await caller.upload(upload_url, 'Content\na\nb\n');
  assert.equal((await caller.until(batch_id, 'SUCCESS')).batch_count, 2);
  await caller.upload(upload_url, CSV);
  assert.equal((await caller.retrieve(batch_id)).batch_count, 2);
});

test('a connection cut in the upload: the object is absent, nothing stays on disk, and the address still works', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'sandbox-test-'));
  t.after(() => rmSync(dataDir, { recursive: true }));
  const { caller, sandbox } = await sandboxFor(t, { dataDir });
  const { batch_id, upload_url } = await caller.create();
  const cut = request(upload_url, {
    method: 'PUT',
    headers: { 'content-type': 'text/csv', 'content-length': '1000000' },
  });
  cut.on('error', () => {});
  cut.write('Content\n');
  const uploads = join(dataDir, 'uploads');
  while (readdirSync(uploads).length === 0) await caller.retrieve(batch_id);
  cut.destroy();
  while (readdirSync(uploads).length > 0) await caller.retrieve(batch_id);
  assert.equal(sandbox.batches()[0]?.uploaded, null);
  assert.equal((await caller.retrieve(batch_id)).batch_status, 'WAITING_FOR_UPLOAD');
  assert.equal((await caller.upload(upload_url, CSV)).status, 200);
});

test('an upload over the limit: 400 EntityTooLarge', async (t) => {
  const { caller } = await sandboxFor(t, {
    policy: { storage: { maxUploadBytes: `${CSV.length}B` } },
  });
  const { upload_url } = await caller.create();
  assert.equal(codeOf(await caller.upload(upload_url, `${CSV}x`)), '400 EntityTooLarge');
  assert.equal((await caller.upload(upload_url, CSV)).status, 200);
});

test('HEAD, PUT and DELETE on a GET address: 403', async (t) => {
  const { caller } = await created(t);
  const url = (await caller.reviewed(CSV)).download_url ?? '';
  assert.equal((await raw('HEAD', url)).status, 403);
  for (const method of ['PUT', 'DELETE'])
    assert.equal(codeOf(await raw(method, url)), '403 SignatureDoesNotMatch');
});

test('without a signature: 403 AccessDenied, also for what is not there', async (t) => {
  const { sandbox, batch_id } = await created(t);
  for (const path of [
    `/storage/uploads/${batch_id}.csv`,
    '/storage/results/none.csv',
    '/storage',
  ]) {
    assert.equal(codeOf(await raw('GET', sandbox.baseUrl + path)), '403 AccessDenied');
  }
});

test('connections are kept and shared by many requests', async (t) => {
  const { caller, upload_url } = await created(t);
  const first = await fetch(upload_url, {
    method: 'PUT',
    headers: { 'content-type': 'text/csv' },
    body: CSV,
  });
  await first.text();
  assert.equal(first.headers.get('connection'), 'keep-alive');
  // A refused upload is read to its end, so that the connection stays usable.
  const socketsSeen = new Set<unknown>();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  for (let turn = 0; turn < 3; turn++) {
    const put = request(upload_url, {
      method: 'PUT',
      agent,
      headers: { 'content-type': 'text/plain', 'content-length': '300000' },
    });
    put.on('socket', (socket) => socketsSeen.add(socket));
    put.end('x'.repeat(300_000));
    const [response] = await once(put, 'response');
    assert.equal(response.statusCode, 403);
    response.resume();
    await once(response, 'close');
  }
  agent.destroy();
  assert.equal(socketsSeen.size, 1);
  assert.equal((await caller.upload(upload_url, CSV)).status, 200);
});
