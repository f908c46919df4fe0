import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { test } from 'node:test';
import { consolePages, loadAssets } from '../../../../src/telemetry/console/console.ts';
import type { ConsoleState } from '../../../../src/telemetry/console/state.ts';
import {
  busyScene,
  hugeScene,
  pipelineView,
  type Scene,
  scene,
  serve,
} from '../../../support/console/scenes.ts';

const PAGE = new URL('../../../../src/telemetry/console/page/', import.meta.url);

function consoleOf({ sources }: Scene) {
  const made = consolePages(sources);
  return (path: string, query = '', headers: IncomingHttpHeaders = {}) =>
    made({ path, query, headers });
}
const stateOf = (answer: Awaited<ReturnType<ReturnType<typeof consoleOf>>>) =>
  JSON.parse(String(answer?.body)) as ConsoleState;

test('every file of the page is served, with all files that it imports and refers to', async () => {
  const ask = consoleOf(busyScene());
  const files = readdirSync(PAGE).filter((file) => !file.endsWith('.ts'));
  const paths = files.map((file) => (file === 'index.html' ? '/' : `/console/${file}`));
  assert.deepEqual([...loadAssets().keys()].sort(), [...paths, '/console/preact.js'].sort());
  for (const [at, path] of paths.entries()) {
    const text = String((await ask(path))?.body);
    assert.equal(text, readFileSync(new URL(files[at] ?? '', PAGE), 'utf8'), path);
    const named = [
      ...[...text.matchAll(/^import .* from '\.\/([\w.-]+)';/gm)].map(
        ([, name]) => `/console/${name}`,
      ),
      ...[...text.matchAll(/(?:src|href)="(console\/[^"]+)"/g)].map(([, name]) => `/${name}`),
    ];
    for (const name of named) assert.equal((await ask(name))?.status, 200, name);
  }
  const library = await ask('/console/preact.js');
  assert.match(String(library?.body), /export ?\{/);
  assert.equal(library?.headers['content-type'], 'text/javascript; charset=utf-8');
});

test('browsers must not load other origins, run inline scripts or frame the page, and get no cookie', async () => {
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

test('other paths are not handled by the console', async () => {
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

test('scripts of other sites get no state, but a link from another site opens the page', async () => {
  const ask = consoleOf(busyScene());
  const from = (site: string) => ({ 'sec-fetch-site': site });
  assert.equal((await ask('/api/state', '', from('cross-site')))?.status, 403);
  assert.equal((await ask('/api/state', '', from('same-site')))?.status, 403);
  assert.equal((await ask('/api/state', '', from('same-origin')))?.status, 200);
  assert.equal((await ask('/', '', from('cross-site')))?.status, 200);
});

test('the state describes the requested pipeline, or the first pipeline by default', async () => {
  const ask = consoleOf(busyScene());
  const nameOf = async (query?: string) => stateOf(await ask('/api/state', query)).detail.name;
  assert.equal(await nameOf(), 'comments');
  assert.equal(await nameOf('pipeline=profile-import'), 'profile-import');
  assert.equal(await nameOf('pipeline=none'), 'comments');
});

test('summary and outcomes contain only figures of the requested pipeline', async () => {
  const shown = busyScene();
  shown.metrics.count('jobs_failed_total', { pipeline: 'comments', reason: 'timeout' }, 2);
  const ask = consoleOf(shown);
  const { detail } = stateOf(await ask('/api/state'));
  const imports = stateOf(await ask('/api/state', 'pipeline=profile-import')).detail;
  assert.deepEqual(
    [detail.ended, detail.inFlight, detail.balance, imports.ended],
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

test('conditions of another pipeline are shown only in its tab', async () => {
  const shown = busyScene();
  shown.health.notReady('profile-import/kafka', 'not a member of group g: it was closed');
  const { pipelines, detail } = stateOf(await consoleOf(shown)('/api/state'));
  assert.deepEqual(
    pipelines.map(({ level }) => level),
    ['good', 'bad'],
  );
  assert.deepEqual(detail.verdict.causes, []);
});

test('silent brokers are a cause for each pipeline', async () => {
  const shown = busyScene();
  shown.metrics.set('kafka_silent_seconds', {}, 9);
  const { pipelines, detail, nowMs } = stateOf(await consoleOf(shown)('/api/state'));
  assert.deepEqual(
    pipelines.map(({ level }) => level),
    ['bad', 'bad'],
  );
  assert.equal(detail.verdict.causes[0]?.sinceMs, nowMs - 9_000);
});

test('characters that control the cursor or the text direction are escaped', async () => {
  const shown = busyScene();
  shown.problems.add('warn', {}, 'type \u202eabc\u0007');
  const { problems } = stateOf(await consoleOf(shown)('/api/state'));
  assert.equal(problems[0]?.message, 'type \\u202eabc\\u0007');
});

test('the server returns the console at / and allows only GET and HEAD', async () => {
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

test('a pipeline shows the conditions of its own service only', async () => {
  const views = [
    pipelineView({ name: 'live' }),
    pipelineView({ name: 'compared', service: 'shadow' }),
  ];
  const shown = scene(views, Date.now());
  shown.health.notReady('service:shadow', 'get_batch at shadow.example could not be reached');
  shown.health.notReady('api_key', 'get_batch at one.example answered 401');
  const ask = consoleOf(shown);
  const causes = async (name: string) => {
    const { detail } = stateOf(await ask('/api/state', `pipeline=${name}`));
    return detail.verdict.causes.map(({ title, text }) => [title, text]);
  };
  assert.deepEqual(await causes('live'), [
    ['The service refuses the API key', 'Get_batch at one.example answered 401'],
  ]);
  assert.deepEqual(await causes('compared'), [
    ['The service is unavailable', 'Get_batch at shadow.example could not be reached'],
  ]);
});
