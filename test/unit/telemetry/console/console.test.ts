import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { test } from 'node:test';
import { Console, loadAssets } from '../../../../src/telemetry/console/console.ts';
import { MAX_PARTITIONS, MAX_SHARDS } from '../../../../src/telemetry/console/group-reading.ts';
import type { ConsoleState } from '../../../../src/telemetry/console/state.ts';
import {
  busyScene,
  hugeScene,
  type Scene,
  serve,
  troubleScene,
} from '../../../support/console/scenes.ts';

const PAGE = new URL('../../../../src/telemetry/console/page/', import.meta.url);

function consoleOf({ sources }: Scene) {
  const made = new Console(sources);
  return (path: string, query = '', headers: IncomingHttpHeaders = {}) =>
    made.answer({ path, query, headers });
}
const stateOf = (answer: Awaited<ReturnType<ReturnType<typeof consoleOf>>>) =>
  JSON.parse(String(answer?.body)) as ConsoleState;

test('every file of the page is served, with all that it imports and names', async () => {
  const ask = consoleOf(busyScene());
  const assets = [...loadAssets().keys()];
  assert.equal(assets.length, readdirSync(PAGE).length);
  for (const path of assets) {
    const answer = await ask(path);
    const file = path === '/' ? 'index.html' : path.replace('/console/', '');
    assert.deepEqual(
      [answer?.status, String(answer?.body)],
      [200, readFileSync(new URL(file, PAGE), 'utf8')],
      path,
    );
    for (const [, name = ''] of String(answer?.body).matchAll(/^import .* from '\.\/([\w.-]+)';/gm))
      assert.ok(assets.includes(`/console/${name}`), name);
  }
  for (const [, name = ''] of readFileSync(new URL('index.html', PAGE), 'utf8').matchAll(
    /(?:src|href)="([^"#]+)"/g,
  ))
    assert.ok(
      ['metrics', 'livez', 'readyz', 'api/state'].includes(name) || assets.includes(`/${name}`),
      name,
    );
});

test('browsers may not load from elsewhere, run inline scripts or frame the page, and get no cookie', async () => {
  const ask = consoleOf(busyScene());
  for (const path of ['/', '/console/main.js', '/api/state']) {
    const headers = (await ask(path))?.headers ?? {};
    const policy = headers['content-security-policy'] ?? '';
    for (const rule of [
      "default-src 'none'",
      "script-src 'self'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
      "form-action 'none'",
      "require-trusted-types-for 'script'",
    ])
      assert.ok(policy.includes(rule), `${path}: ${rule}`);
    assert.doesNotMatch(policy, /unsafe|https?:|\*/);
    assert.deepEqual(
      [
        headers['x-content-type-options'],
        headers['x-frame-options'],
        headers['referrer-policy'],
        headers['set-cookie'],
      ],
      ['nosniff', 'DENY', 'no-referrer', undefined],
    );
  }
  assert.equal((await ask('/api/state'))?.headers['cache-control'], 'no-store');
  const page = readFileSync(new URL('index.html', PAGE), 'utf8');
  assert.doesNotMatch(page, /<script(?![^>]*\bsrc=)|\son\w+=|\sstyle=|https?:\/\//);
});

test('other paths are left to the server', async () => {
  const ask = consoleOf(busyScene());
  for (const path of [
    '/metrics',
    '/console/',
    '/console/../assets.ts',
    '/console/console.ts',
    '/api',
    '/api/explain',
    '/__proto__',
    'constructor',
  ])
    assert.equal(await ask(path), undefined, path);
});

test('scripts of other sites get no state, and people who follow a link get the page', async () => {
  const ask = consoleOf(busyScene());
  const from = (site: string) => ({ 'sec-fetch-site': site });
  assert.equal((await ask('/api/state', '', from('cross-site')))?.status, 403);
  assert.equal((await ask('/api/state', '', from('same-site')))?.status, 403);
  assert.equal((await ask('/api/state', 'group', from('cross-site')))?.status, 403);
  assert.equal((await ask('/api/state', 'group', from('same-origin')))?.status, 200);
  assert.equal((await ask('/api/state', '', from('same-origin')))?.status, 200);
  assert.equal((await ask('/', '', from('cross-site')))?.status, 200);
});

test('the state is that of the requested pipeline, else of the first', async () => {
  const ask = consoleOf(busyScene());
  const nameOf = async (query?: string) => stateOf(await ask('/api/state', query)).detail.name;
  assert.equal(await nameOf(), 'comments');
  assert.equal(await nameOf('pipeline=profile-import'), 'profile-import');
  assert.equal(await nameOf('pipeline=none'), 'comments');
});

test('a summary and the outcomes hold the figures of their own pipeline', async () => {
  const shown = busyScene();
  shown.metrics.count('jobs_failed_total', { pipeline: 'comments', reason: 'timeout' }, 2);
  const { pipelines, detail } = stateOf(await consoleOf(shown)('/api/state'));
  const [comments, imports] = pipelines;
  assert.deepEqual(
    [comments?.ended, comments?.inFlight, comments?.balance, imports?.ended],
    [640 * 900 + 3_600 + 12, 14_400, 0, 640 * 12 + 48 + 12],
  );
  assert.deepEqual(detail.outcomes, [
    { outcome: 'decision SUCCESS', total: 576_000 },
    { outcome: 'decision ERROR', total: 3_600 },
    { outcome: 'dead letter not_json', total: 12 },
    { outcome: 'failed attempt timeout', total: 2 },
  ]);
});

test('with 200 shards and 5,000 batches a response stays small', async () => {
  const answer = await consoleOf(hugeScene())('/api/state');
  assert.ok(String(answer?.body).length < 100_000, `${String(answer?.body).length}`);
  assert.equal(stateOf(answer).detail.jobs.length, 50);
});

test('with the shards of all instances a response has up to 160 kB more, and they come once', async () => {
  const shown = hugeScene();
  const watermarks = Array.from({ length: MAX_PARTITIONS }, (_, n) => ({
    partition: 1_000 + n,
    watermark: Number.MAX_SAFE_INTEGER,
  }));
  const shards = Array.from({ length: MAX_SHARDS }, (_, shard) => ({
    ...{ shard, instance: 'x'.repeat(64), seenMs: 1e12, writtenMs: 1e12 },
    ...{ jobs: 1e4, records: 1e8, lag: 1e16, partitions: 64, watermarks },
  }));
  const report = { state: 'Stable', members: 9, shardCount: 600, shards };
  Object.assign(shown.group, { atMs: 5, tookMs: 800, report });
  const ask = consoleOf(shown);
  const all = await ask('/api/state', 'group=');
  const size = String(all?.body).length;
  assert.ok(size < 260_000, `${size}`);
  assert.deepEqual(stateOf(all).group?.report, report);
  const { group } = stateOf(await ask('/api/state', 'group=comments/5'));
  assert.deepEqual([group?.atMs, group?.report], [5, undefined]);
  for (const other of ['comments/4', 'profile-import/5'])
    assert.deepEqual(stateOf(await ask('/api/state', `group=${other}`)).group?.report, report);
});

test('unmet conditions and stuck loops have their reasons', async () => {
  const state = stateOf(await consoleOf(troubleScene())('/api/state'));
  assert.equal(state.ready, false);
  assert.deepEqual(
    state.conditions.map(({ name }) => name),
    ['api-key'],
  );
});

test('served, it is there at / and takes no other method than GET and HEAD', async () => {
  const { server, close } = await serve(busyScene());
  try {
    const page = await fetch(`${server.url}/`);
    assert.deepEqual(
      [page.status, page.headers.get('content-type')],
      [200, 'text/html; charset=utf-8'],
    );
    assert.match(await page.text(), /<title>Content Review Connector<\/title>/);
    assert.equal(
      (await fetch(`${server.url}/api/state`, { method: 'POST', body: '{}' })).status,
      405,
    );
    const head = await fetch(`${server.url}/api/state?pipeline=comments`, { method: 'HEAD' });
    assert.deepEqual([head.status, await head.text()], [200, '']);
    const missing = await fetch(`${server.url}/nothing`);
    assert.deepEqual(
      [missing.status, ((await missing.json()) as { paths: string[] }).paths[0]],
      [404, '/'],
    );
    assert.equal((await fetch(`${server.url}/livez`)).status, 200);
  } finally {
    await close();
  }
});
