import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test from 'node:test';
import { gzipSync } from 'node:zlib';
import { systemClock } from '../../../src/base/clock.ts';
import { ContentReviewClient, ServiceError, type UploadSource } from '../../../src/index.ts';
import { deadAddress, httpServer, json, KEY } from '../service/servers.ts';
import { all, scripted } from './scripted.ts';

test('an import is created, uploaded from a file, and polled until it is complete', async (t) => {
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
  const id = await client.submitImport({ path: file });
  const answers: string[] = [];
  const done = await client.waitForImport(id, {
    onAnswer: ({ rawStatus }) => answers.push(rawStatus),
  });
  assert.deepEqual(done, { importId: 'i-1', status: 'COMPLETE', rawStatus: 'COMPLETE' });
  assert.deepEqual(answers, ['WAITING_FOR_UPLOAD', 'IN_PROGRESS', 'ON_FIRE', 'COMPLETE']);
  const put = server.seen.find(({ method }) => method === 'PUT');
  assert.deepEqual(
    [put?.headers['content-type'], put?.headers['content-length'], put?.body.toString()],
    ['application/jsonl', '26', '{"type":"user","data":{}}\n'],
  );
  assert.equal(clock.slept.length, 3);
  await assert.rejects(client.submitImport({ path: directory }), TypeError);
  await assert.rejects(client.submitImport({ path: path.join(directory, 'none') }), {
    code: 'ENOENT',
  });
});

test('a pending decision is polled at growing intervals', async (t) => {
  let asked = 0;
  const { client, clock } = await scripted(t, (response) =>
    json(response, 200, {
      decision_status: ++asked < 12 ? 'PENDING' : 'SUCCESS',
      metadata: { a: 1 },
      result: 'keep',
      labels: [],
    }),
  );
  const decision = await client.waitForDecision('d-1', { firstDelayMs: 100, maxDelayMs: 1_000 });
  assert.deepEqual(
    [decision.status, decision.result, decision.metadataJson],
    ['SUCCESS', 'keep', '{"a":1}'],
  );
  assert.equal(clock.slept.length, 11);
  for (const [index, ms] of clock.slept.entries()) {
    const ceiling = Math.min(1_000, 100 * 1.5 ** index);
    assert.ok(ms >= ceiling / 2 && ms <= ceiling, `wait ${index}: ${ms}`);
  }
});

test('a batch is finished only when its results are available or will never be', async (t) => {
  const answers = [
    { batch_status: 'SUCCESS', download_url: null },
    { batch_status: 'SUCCESS', download_url: 'http://127.0.0.1/d' },
    { batch_status: 'CANCELLED', download_url: null },
  ];
  const { client } = await scripted(t, (response, _, index) => json(response, 200, answers[index]));
  assert.equal((await client.waitForBatch('b-1')).downloadUrl, 'http://127.0.0.1/d');
  assert.equal((await client.waitForBatch('b-1')).status, 'CANCELLED');
});

test('the error of a request contains its failure, and retries are reported', async (t) => {
  const expected = {
    400: 'rejected',
    401: 'unauthorized',
    404: 'not_found',
    413: 'too_large',
    503: 'unavailable',
  };
  for (const [status, failure] of Object.entries(expected)) {
    const retries: string[] = [];
    const { client } = await scripted(
      t,
      (response) => json(response, Number(status), { message: 'no' }, { 'retry-after': '1' }),
      {
        retry: { maxRetries: 1 },
        observer: { retry: (operation, reason) => retries.push(`${operation} ${reason}`) },
      },
    );
    await assert.rejects(client.getDecision('d-1'), (error) => {
      assert.ok(error instanceof ServiceError);
      const { operation, retryAfterMs } = error;
      assert.deepEqual(
        [error.failure, error.status, operation, retryAfterMs],
        [failure, Number(status), 'get_decision', 1000],
      );
      return true;
    });
    assert.deepEqual(retries, status === '503' ? ['get_decision 503'] : []);
  }
  const client = new ContentReviewClient({
    baseUrl: await deadAddress(),
    apiKey: () => KEY,
    retry: { maxRetries: 0 },
  });
  await assert.rejects(client.createBatch('email'), { failure: 'unavailable' });
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
      () => client.submitBatch('post', source),
      () => client.submitImport(source),
    ])
      await assert.rejects(
        submit(),
        (error) => error instanceof TypeError && /^the upload must be/.test(error.message),
      );
  }
  await assert.rejects(client.submitBatch('post', { path: '/none/such' }), { code: 'ENOENT' });
  await assert.rejects(client.submitImport({ path: tmpdir() }), TypeError);
  assert.equal(server.seen.length, 0);
});

test('the length of a download is reported unless it is compressed or unknown', async (t) => {
  const { client, server } = await scripted(t, (response, { path }) => {
    const body = path === '/gzip' ? gzipSync('abc') : Buffer.from('abc');
    const encoding = path === '/gzip' ? { 'content-encoding': 'gzip' } : {};
    response.writeHead(200, path === '/none' ? {} : { ...encoding, 'content-length': body.length });
    response.write(body);
    response.end();
  });
  for (const [name, expected] of Object.entries({ plain: [3], gzip: [], none: [] })) {
    const lengths: number[] = [];
    const onLength = (bytes: number) => lengths.push(bytes);
    const chunks = await all(client.download(`${server.url}/${name}`, { onLength }));
    assert.deepEqual([String(Buffer.concat(chunks)), lengths], ['abc', expected], name);
  }
});

test('closing the client immediately ends waits for the next poll and for a retry', {
  timeout: 10_000,
}, async (t) => {
  for (const status of [200, 503]) {
    const server = await httpServer(t, (response) =>
      json(response, status, { batch_status: 'PENDING' }, { 'retry-after': '50' }),
    );
    const waits = Promise.withResolvers<void>();
    const clock = {
      ...systemClock,
      sleep: (_ms: number, signal?: AbortSignal) => {
        waits.resolve();
        return systemClock.sleep(60_000, signal);
      },
    };
    const client = new ContentReviewClient({ baseUrl: server.url, apiKey: KEY, clock });
    const work = client.waitForBatch('b-1');
    work.catch(() => undefined);
    await waits.promise;
    await client.close();
    await assert.rejects(work, { name: 'AbortError' });
  }
});

test("a wait continues on a 404 only in the first minute after the client's own create", async (t) => {
  let unknown = 3;
  const { client, clock } = await scripted(t, (response, { method }) => {
    const created = { import_status: 'WAITING_FOR_UPLOAD', upload_url: 'http://127.0.0.1:1/u' };
    if (method === 'POST') json(response, 200, { batch_id: 'b-1', import_id: 'i-1', ...created });
    else if (unknown-- > 0) json(response, 404, {});
    else json(response, 200, { batch_status: 'CANCELLED', import_status: 'FAILED' });
  });
  await assert.rejects(client.waitForBatch('b-1'), { failure: 'not_found' });
  for (const [create, wait, status] of [
    [() => client.createBatch('post'), () => client.waitForBatch('b-1'), 'CANCELLED'],
    [() => client.createImport(), () => client.waitForImport('i-1'), 'FAILED'],
  ] as const) {
    unknown = 3;
    await create();
    assert.equal((await wait()).status, status);
  }
  await client.createBatch('post');
  const startMs = clock.now();
  unknown = Infinity;
  await assert.rejects(client.waitForBatch('b-1'), { failure: 'not_found' });
  const waitedMs = clock.now() - startMs;
  assert.ok(waitedMs >= 60_000 && waitedMs < 100_000, `${waitedMs}`);
});

test('a wait continues through an outage once the service has responded', async (t) => {
  const pending = { batch_status: 'PENDING' };
  const cancelled = { batch_status: 'CANCELLED' };
  const answers: (object | undefined)[] = [];
  const { client, server } = await scripted(
    t,
    (response) => {
      const answer = answers.shift();
      json(response, answer === undefined ? 503 : 200, answer ?? {});
    },
    { retry: { maxRetries: 0 } },
  );
  answers.push(pending, undefined, undefined, cancelled);
  assert.equal((await client.waitForBatch('b-1')).status, 'CANCELLED');
  assert.equal(server.seen.length, 4);
  answers.push(undefined, cancelled);
  await assert.rejects(client.waitForBatch('b-1'), { failure: 'unavailable' });
});
