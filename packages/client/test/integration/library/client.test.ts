import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test from 'node:test';
import { systemClock } from '../../../src/base/clock.ts';
import {
  ContentReviewClient,
  ContentReviewError,
  NotFoundError,
  RejectedError,
  RequestError,
  TooLargeError,
  UnauthorizedError,
  UnavailableError,
  type UploadSource,
} from '../../../src/index.ts';
import { deadAddress, httpServer, json, KEY } from '../service/servers.ts';
import { scripted } from './scripted.ts';

test('an import is created, uploaded from a file, and waited for until it is complete', async (t) => {
  const states = ['WAITING_FOR_UPLOAD', 'IN_PROGRESS', 'ON_FIRE', 'COMPLETE'];
  const { client, clock, server } = await scripted(t, (response, request) => {
    const upload_url = `http://${request.headers.host}/put?sig=1`;
    if (request.method === 'POST')
      json(response, 200, { import_id: 'i-1', import_status: 'WAITING_FOR_UPLOAD', upload_url });
    else if (request.method === 'PUT') response.end();
    else json(response, 200, { import_id: 'i-1', import_status: states.shift() });
  });
  const directory = await mkdtemp(path.join(tmpdir(), 'client-'));
  t.after(() => rm(directory, { recursive: true }));
  const file = path.join(directory, 'records.jsonl');
  await writeFile(file, '{"type":"user","data":{}}\n');
  const progress: string[] = [];
  const id = await client.imports.submit(
    { path: file },
    { onProgress: (sent, total) => progress.push(`${sent}/${total}`) },
  );
  const answers: string[] = [];
  const done = await client.imports.waitFor(id, {
    onAnswer: ({ rawStatus }) => answers.push(rawStatus),
  });
  assert.deepEqual(done, { importId: 'i-1', status: 'COMPLETE', rawStatus: 'COMPLETE' });
  assert.deepEqual(answers, ['WAITING_FOR_UPLOAD', 'IN_PROGRESS', 'ON_FIRE', 'COMPLETE']);
  assert.deepEqual(progress, ['0/26', '26/26']);
  const put = server.seen.find(({ method }) => method === 'PUT');
  assert.deepEqual(
    [put?.headers['content-type'], put?.headers['content-length'], put?.body.toString()],
    ['application/jsonl', '26', '{"type":"user","data":{}}\n'],
  );
  assert.equal(clock.slept.length, 3);
  await assert.rejects(client.imports.submit({ path: directory }), TypeError);
  await assert.rejects(client.imports.submit({ path: path.join(directory, 'none') }), {
    code: 'ENOENT',
  });
});

test('a pending decision is polled ever less often', async (t) => {
  let asked = 0;
  const { client, clock } = await scripted(t, (response) =>
    json(response, 200, {
      decision_status: ++asked < 12 ? 'PENDING' : 'SUCCESS',
      metadata: { a: 1 },
      result: 'keep',
      labels: [],
    }),
  );
  const decision = await client.decisions.waitFor('d-1', { firstDelayMs: 100, maxDelayMs: 1_000 });
  assert.deepEqual(
    [decision.status, decision.result, decision.metadata],
    ['SUCCESS', 'keep', { a: 1 }],
  );
  assert.equal(clock.slept.length, 11);
  for (const [index, ms] of clock.slept.entries()) {
    const ceiling = Math.min(1_000, 100 * 1.5 ** index);
    assert.ok(ms >= ceiling / 2 && ms <= ceiling, `wait ${index}: ${ms}`);
  }
});

test('a batch is finished only when its results are available, or when there will be none', async (t) => {
  const answers = [
    { batch_status: 'SUCCESS', download_url: null },
    { batch_status: 'SUCCESS', download_url: 'http://127.0.0.1/d' },
    { batch_status: 'CANCELLED', download_url: null },
  ];
  const { client } = await scripted(t, (response, _, index) => json(response, 200, answers[index]));
  assert.equal((await client.batches.waitFor('b-1')).downloadUrl, 'http://127.0.0.1/d');
  assert.equal((await client.batches.waitFor('b-1')).status, 'CANCELLED');
});

test('each failure has an error class of its own, and all are ContentReviewErrors', async (t) => {
  const expected = [
    [400, RejectedError],
    [401, UnauthorizedError],
    [404, NotFoundError],
    [413, TooLargeError],
    [503, UnavailableError],
  ] as const;
  for (const [status, kind] of expected) {
    const retries: string[] = [];
    const { client } = await scripted(
      t,
      (response) => json(response, status, { message: 'no' }, { 'retry-after': '1' }),
      {
        retry: { maxRetries: 1 },
        onRetry: (operation, reason) => retries.push(`${operation} ${reason}`),
      },
    );
    await assert.rejects(client.decisions.get('d-1'), (error) => {
      assert.ok(
        error instanceof kind &&
          error instanceof RequestError &&
          error instanceof ContentReviewError,
      );
      assert.deepEqual(
        [error.status, error.operation, error.name],
        [status, 'get_decision', kind.name],
      );
      assert.equal(error.retryAfterMs, 1000);
      return true;
    });
    assert.deepEqual(retries, status === 503 ? ['get_decision 503'] : []);
  }
  const client = new ContentReviewClient({
    baseUrl: await deadAddress(),
    apiKey: () => KEY,
    retry: { maxRetries: 0 },
  });
  await assert.rejects(client.batches.create('email'), UnavailableError);
  await client.close();
});

test('nothing is created for an unusable source, and no message quotes it', async (t) => {
  const { client, server } = await scripted(t, (response) => response.end());
  const wrong: readonly unknown[] = [
    'Content\nhunter2\n',
    undefined,
    null,
    7,
    new Blob(['hunter2']),
    new ArrayBuffer(8),
    {},
    { path: 7 },
  ];
  for (const source of wrong as UploadSource[]) {
    for (const submit of [
      () => client.batches.submit('post', source),
      () => client.imports.submit(source),
    ])
      await assert.rejects(
        submit(),
        (error) => error instanceof TypeError && /^what is uploaded must be/.test(error.message),
      );
  }
  await assert.rejects(client.batches.submit('post', { path: '/none/such' }), { code: 'ENOENT' });
  await assert.rejects(client.imports.submit({ path: tmpdir() }), TypeError);
  assert.equal(server.seen.length, 0);
});

test('closing the client ends waits for the next poll, a retry and another download at once', {
  timeout: 10_000,
}, async (t) => {
  const ended: string[] = [];
  for (const wait of ['question', 'try', 'download'] as const) {
    const server = await httpServer(t, (response, request) => {
      if (wait === 'try') json(response, 503, {}, { 'retry-after': '50' });
      else if (request.url === '/file')
        response.writeHead(200, { 'content-length': '9' }).write('Con', () => response.destroy());
      else
        json(response, 200, {
          batch_status: 'SUCCESS',
          download_url: wait === 'download' ? `${server.url}/file` : null,
        });
    });
    const waits = Promise.withResolvers<void>();
    const clock = {
      ...systemClock,
      sleep: (_ms: number, signal?: AbortSignal) => {
        waits.resolve();
        return systemClock.sleep(60_000, signal);
      },
    };
    const client = new ContentReviewClient({ baseUrl: server.url, apiKey: KEY, clock });
    const work =
      wait === 'download' ? client.batches.results('b-1').next() : client.batches.waitFor('b-1');
    work.catch(() => undefined);
    await waits.promise;
    await client.close();
    await assert.rejects(work, { name: 'AbortError' });
    ended.push(wait);
  }
  assert.deepEqual(ended, ['question', 'try', 'download']);
});

const CREATED = {
  batch_id: 'b-1',
  batch_status: 'WAITING_FOR_UPLOAD',
  upload_url: 'http://127.0.0.1:1/u',
  download_url: null,
};
const IMPORT = {
  import_id: 'i-1',
  import_status: 'WAITING_FOR_UPLOAD',
  upload_url: 'http://127.0.0.1:1/u',
};

test("a 404 soon after the client's own create is waited out, and no other", async (t) => {
  let missing = 3;
  const { client, clock, server } = await scripted(t, (response, { method, path }) => {
    if (method === 'POST') return json(response, 200, path === '/v1/import' ? IMPORT : CREATED);
    if (missing-- > 0) return json(response, 404, {});
    return json(response, 200, { batch_status: 'CANCELLED', import_status: 'FAILED' });
  });
  await assert.rejects(client.batches.waitFor('b-1'), NotFoundError);
  missing = 3;
  await client.batches.create('post');
  assert.equal((await client.batches.waitFor('b-1')).status, 'CANCELLED');
  missing = 3;
  await client.imports.create();
  assert.equal((await client.imports.waitFor('i-1')).status, 'FAILED');
  missing = Number.POSITIVE_INFINITY;
  const startedMs = clock.now();
  const before = server.seen.length;
  await assert.rejects(client.imports.waitFor('i-1', { timeoutMs: 3_600_000 }), NotFoundError);
  assert.ok(
    server.seen.length > before + 2 && clock.now() - startedMs < 60_000,
    'until half a minute after the create',
  );
});

test('a wait outlasts an outage of the service, once it has answered or the resource is its own', async (t) => {
  const answers: (object | undefined)[] = [];
  const { client, clock } = await scripted(
    t,
    (response, { method }) => {
      if (method === 'POST') return json(response, 200, CREATED);
      const answer = answers.shift();
      return json(response, answer === undefined ? 503 : 200, answer ?? {});
    },
    { retry: { maxRetries: 0 } },
  );
  const pending = { batch_status: 'PENDING' };
  const cancelled = { batch_status: 'CANCELLED' };
  answers.push(pending, undefined, undefined, cancelled);
  assert.equal((await client.batches.waitFor('b-2')).status, 'CANCELLED');

  answers.push(undefined, cancelled);
  await assert.rejects(client.batches.waitFor('b-2'), UnavailableError);
  answers.length = 0;

  const { batchId } = await client.batches.create('post');
  answers.push(undefined, cancelled);
  assert.equal((await client.batches.waitFor(batchId)).status, 'CANCELLED');

  answers.push(pending);
  const startMs = clock.now();
  await assert.rejects(client.batches.waitFor('b-2'), UnavailableError);
  const waitedMs = clock.now() - startMs;
  assert.ok(waitedMs > 590_000 && waitedMs < 610_000, `${waitedMs} ms`);
});
