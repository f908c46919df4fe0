import assert from 'node:assert/strict';
import test, { type TestContext } from 'node:test';
import { type SandboxOptions, startSandbox } from '../../../../sandbox/src/sandbox.ts';
import type { BatchView } from '../../../src/service/answers.ts';
import type { ServiceClient } from '../../../src/service/client.ts';
import type { ServiceClientOptions } from '../../../src/service/options.ts';
import { clientFor, collect, KEY, NEVER } from './servers.ts';

const CSV = Buffer.from('Content,id\r\n"hello, ""you""",1\r\nzwei\u{1f600},2\r\n');
const UPLOAD = { contentType: 'text/csv', ...NEVER };

async function sandboxAndClient(
  t: TestContext,
  policy: SandboxOptions['policy'] = {},
  options: Partial<ServiceClientOptions> = {},
) {
  const sandbox = await startSandbox({ apiKeys: [KEY], policy });
  t.after(() => sandbox.stop());
  return { sandbox, ...clientFor(t, sandbox.baseUrl, options) };
}

/** Asks until the batch has left its first states; each answer is a step of the sandbox, so no time is waited for blindly. */
async function finished(client: ServiceClient, batchId: string): Promise<BatchView> {
  for (;;) {
    const batch = await client.getBatch(batchId, NEVER);
    if (batch.status !== 'WAITING_FOR_UPLOAD' && batch.status !== 'PENDING') return batch;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test('a batch goes through create, upload, review and download', async (t) => {
  const { client, observer } = await sandboxAndClient(t);
  const { batchId, uploadUrl } = await client.createBatch('email', NEVER);
  const waiting = await client.getBatch(batchId, NEVER);
  assert.deepEqual(
    [waiting.status, waiting.type, waiting.downloadUrl],
    ['WAITING_FOR_UPLOAD', 'email', undefined],
  );
  await client.upload(uploadUrl, CSV, UPLOAD);
  const batch = await finished(client, batchId);
  assert.equal(batch.status, 'SUCCESS');
  assert.deepEqual(batch.counts, { total: 2, success: 2, pending: 0, error: 0, cancelled: 0 });
  const results = (await collect(client.download(batch.downloadUrl ?? '', NEVER))).toString();
  assert.match(results, /^Content,Status,/);
  assert.ok(results.includes('"hello, ""you"""') && results.includes('zwei\u{1f600}'));
  assert.deepEqual([observer.retries, observer.orphans], [[], 0]);
});

test('a create whose answer is lost is retried, reported as an orphan, and leaves a batch without upload', async (t) => {
  const { sandbox, client, observer } = await sandboxAndClient(t, {
    faults: [{ operation: 'create_batch', action: 'reset_after' }],
  });
  await client.createBatch('email', NEVER);
  assert.equal(sandbox.batches().length, 2);
  assert.deepEqual([observer.retries, observer.orphans], [['create_batch reset'], 1]);
});

test('every operation survives resets, busy answers and silence', async (t) => {
  const operations = ['create_batch', 'get_batch', 'upload', 'download'] as const;
  const faults = operations.flatMap(
    (operation) =>
      [
        { operation, action: 'reset_before' },
        { operation, action: 'reset_after' },
        { operation, action: 'answer', status: 429, retryAfter: '3s' },
        { operation, action: 'answer', status: 503 },
        { operation, action: 'hang' },
      ] as const,
  );
  const settings = { headersTimeoutMs: 300, retry: { maxRetries: 10, maxElapsedMs: 600_000 } };
  const { sandbox, client, observer, clock } = await sandboxAndClient(t, { faults }, settings);
  const { batchId, uploadUrl } = await client.createBatch('email', NEVER);
  await client.upload(uploadUrl, CSV, UPLOAD);
  const { downloadUrl } = await finished(client, batchId);
  // After its effect a download can only be reset inside the body: that is the caller's to repeat.
  for (;;) {
    try {
      await collect(client.download(downloadUrl ?? '', NEVER));
      break;
    } catch (error) {
      assert.match(String(error), /was cut/);
    }
  }
  assert.ok(
    sandbox.faults.entries().every(({ fired }) => fired === 1),
    'every fault struck',
  );
  for (const operation of operations) {
    for (const reason of ['reset', '429', '503', 'headers_timeout']) {
      assert.ok(observer.retries.includes(`${operation} ${reason}`), `${operation} ${reason}`);
    }
  }
  assert.equal(
    clock.slept.filter((ms) => ms >= 3000).length >= operations.length,
    true,
    'Retry-After was kept',
  );
});

test('a wrong key is unauthorized', async (t) => {
  const { client } = await sandboxAndClient(t, {}, { apiKey: async () => 'sk-live-wrong' });
  await assert.rejects(client.createBatch('email', NEVER), {
    failure: 'unauthorized',
    status: 401,
  });
});

test('an unknown batch is not found', async (t) => {
  const { client } = await sandboxAndClient(t);
  await assert.rejects(client.getBatch('no-such-batch', NEVER), {
    failure: 'not_found',
    status: 404,
  });
});

test('an expired upload address is `expired`, a wrong type a refused signature, a big body too large', async (t) => {
  const { client } = await sandboxAndClient(t, {
    storage: { maxUploadBytes: '1KiB' },
    faults: [{ operation: 'create_batch', action: 'expired_url' }],
  });
  const expired = await client.createBatch('email', NEVER);
  await assert.rejects(client.upload(expired.uploadUrl, CSV, UPLOAD), {
    failure: 'expired',
    status: 403,
  });
  const { uploadUrl } = await client.createBatch('email', NEVER);
  await assert.rejects(client.upload(uploadUrl, CSV, { contentType: 'text/plain', ...NEVER }), {
    failure: 'rejected',
    message: /403 SignatureDoesNotMatch/,
  });
  await assert.rejects(client.upload(uploadUrl, Buffer.alloc(1025), UPLOAD), {
    failure: 'too_large',
  });
  await assert.rejects(client.upload(uploadUrl, Buffer.alloc(30_000_000), UPLOAD), {
    failure: 'too_large',
  });
});

test('the misspelt status and an unknown one are read', async (t) => {
  const { client } = await sandboxAndClient(t, {
    faults: [
      { operation: 'get_batch', action: 'state', state: 'WATING_FOR_UPLOAD' },
      { operation: 'get_batch', action: 'state', state: 'ON_FIRE' },
    ],
  });
  const { batchId } = await client.createBatch('email', NEVER);
  assert.equal((await client.getBatch(batchId, NEVER)).status, 'WAITING_FOR_UPLOAD');
  const unknown = await client.getBatch(batchId, NEVER);
  assert.deepEqual([unknown.status, unknown.rawStatus], [undefined, 'ON_FIRE']);
});

test('a cut download is reported as cut', async (t) => {
  const { client } = await sandboxAndClient(t, {
    faults: [{ operation: 'download', action: 'cut', afterBytes: 10 }],
  });
  const { batchId, uploadUrl } = await client.createBatch('email', NEVER);
  await client.upload(uploadUrl, CSV, UPLOAD);
  const { downloadUrl } = await finished(client, batchId);
  await assert.rejects(collect(client.download(downloadUrl ?? '', NEVER)), {
    failure: 'protocol',
    message: /was cut/,
  });
});
