/** The storage against the answers that S3 was measured to give (packages/sandbox/README.md, table of the storage). */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
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
  const { batch_id, upload_url } = await caller.create();
  return { caller, sandbox, batch_id, upload_url };
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
    assert.equal(codeOf(await caller.upload(upload_url, CSV, type)), '403 SignatureDoesNotMatch');
  }
  assert.equal(codeOf(await raw('PUT', upload_url, {}, CSV)), '403 SignatureDoesNotMatch');
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
    assert.equal((await caller.retrieve(batch_id)).batch_status, 'SUCCESS');
  }
  assert.deepEqual(
    sandbox.batches().map(({ rows }) => rows),
    [1],
  );
});

test('an upload over the limit: 400 EntityTooLarge', async (t) => {
  const { caller } = await sandboxFor(t, {
    policy: { storage: { maxUploadBytes: `${CSV.length}B` } },
  });
  const { upload_url } = await caller.create();
  assert.equal(codeOf(await caller.upload(upload_url, `${CSV}x`)), '400 EntityTooLarge');
  assert.equal((await caller.upload(upload_url, CSV)).status, 200);
});
