import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { after, test } from 'node:test';
import { ASSETS } from '../../../../src/telemetry/console/assets.ts';
import { Console } from '../../../../src/telemetry/console/console.ts';
import type { ConsoleState } from '../../../../src/telemetry/console/state.ts';
import {
  busyScene,
  hugeScene,
  type Scene,
  serve,
  troubleScene,
} from '../../../support/console/scenes.ts';

const PAGE = new URL('../../../../src/telemetry/console/page/', import.meta.url);
const opened: Console[] = [];
after(() => {
  for (const one of opened) one.close();
});

function consoleOf({ sources }: Scene, host = '127.0.0.1') {
  const made = new Console(sources, host);
  opened.push(made);
  return (path: string, query = '', headers: IncomingHttpHeaders = { host: 'localhost:9464' }) =>
    made.answer({ path, query, headers });
}
const stateOf = (answer: ReturnType<ReturnType<typeof consoleOf>>) =>
  JSON.parse(String(answer?.body)) as ConsoleState;

test('every file of the page is served, with all that it imports and names', () => {
  const ask = consoleOf(busyScene());
  assert.deepEqual(Object.values(ASSETS).sort(), readdirSync(PAGE).sort());
  for (const [path, file] of Object.entries(ASSETS)) {
    const answer = ask(path);
    assert.deepEqual(
      [answer?.status, String(answer?.body)],
      [200, readFileSync(new URL(file, PAGE), 'utf8')],
      path,
    );
    for (const [, name = ''] of String(answer?.body).matchAll(/^import .* from '\.\/([\w.-]+)';/gm))
      assert.ok(ASSETS[`/console/${name}`] !== undefined, name);
  }
  for (const [, name = ''] of readFileSync(new URL('index.html', PAGE), 'utf8').matchAll(
    /(?:src|href)="([^"#]+)"/g,
  ))
    assert.ok(
      ['metrics', 'livez', 'readyz', 'api/state'].includes(name) ||
        ASSETS[`/${name}`] !== undefined,
      name,
    );
});

test('browsers may load nothing from elsewhere, run nothing inline, frame nothing, and get no cookie', () => {
  const ask = consoleOf(busyScene());
  for (const path of ['/', '/console/main.js', '/api/state']) {
    const headers = ask(path)?.headers ?? {};
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
  assert.equal(ask('/api/state')?.headers['cache-control'], 'no-store');
  const page = readFileSync(new URL('index.html', PAGE), 'utf8');
  assert.doesNotMatch(page, /<script(?![^>]*\bsrc=)|\son\w+=|\sstyle=|https?:\/\//);
});

test('a page that the browser has is not sent again', () => {
  const ask = consoleOf(busyScene());
  const etag = ask('/')?.headers.etag as string;
  const again = ask('/', '', { host: 'localhost', 'if-none-match': etag });
  assert.deepEqual([again?.status, again?.body], [304, '']);
});

test('paths that are not its own are left to others', () => {
  const ask = consoleOf(busyScene());
  for (const path of [
    '/metrics',
    '/console/',
    '/console/../assets.ts',
    '/console/console.ts',
    '/api',
    '/__proto__',
    'constructor',
  ])
    assert.equal(ask(path), undefined, path);
});

test('on the loopback it answers only to names of this machine, so that no other site gets at it by a name of its own', () => {
  const ask = consoleOf(busyScene());
  for (const host of ['localhost', 'LOCALHOST:9464', '127.0.0.1:9464', '127.9.9.9', '[::1]:9464'])
    assert.equal(ask('/api/state', '', { host })?.status, 200, host);
  for (const host of [
    'evil.example',
    'evil.example:9464',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    '10.0.0.1',
    '',
  ]) {
    assert.equal(ask('/api/state', '', { host })?.status, 403, host);
    assert.equal(ask('/', '', { host })?.status, 403, host);
  }
  assert.equal(
    consoleOf(busyScene(), '0.0.0.0')('/', '', { host: 'connector.internal:9464' })?.status,
    200,
    'bound to more, it cannot know its names',
  );
});

test('scripts of other sites get no state, and people who follow a link get the page', () => {
  const ask = consoleOf(busyScene());
  const from = (site: string) => ({ host: 'localhost', 'sec-fetch-site': site });
  assert.equal(ask('/api/state', '', from('cross-site'))?.status, 403);
  assert.equal(ask('/api/state', '', from('same-site'))?.status, 403);
  assert.equal(ask('/api/state', '', from('same-origin'))?.status, 200);
  assert.equal(ask('/', '', from('cross-site'))?.status, 200);
});

test('the state is that of the pipeline asked for, else of the first; samples are those after what the page has', () => {
  const ask = consoleOf(busyScene());
  assert.equal(stateOf(ask('/api/state')).detail.name, 'comments');
  assert.equal(stateOf(ask('/api/state', 'pipeline=profile-import')).detail.name, 'profile-import');
  assert.equal(stateOf(ask('/api/state', 'pipeline=none&since=x')).detail.name, 'comments');
  const { samples } = stateOf(ask('/api/state')).detail;
  assert.ok(samples.length > 300);
  const late = stateOf(ask('/api/state', `since=${samples.at(-3)?.atMs}`)).detail.samples;
  assert.deepEqual(late, samples.slice(-2));
});

test('with 200 shards and 5,000 batches an answer stays small, and the next ones smaller', () => {
  const ask = consoleOf(hugeScene());
  const first = ask('/api/state');
  assert.ok(String(first?.body).length < 150_000, `${String(first?.body).length}`);
  assert.equal(stateOf(first).detail.jobs.length, 50);
  const since = stateOf(first).detail.samples.at(-1)?.atMs;
  assert.ok(String(ask('/api/state', `since=${since}`)?.body).length < 75_000);
});

test('what is not ready or stuck is told with its reason', () => {
  const state = stateOf(consoleOf(troubleScene())('/api/state'));
  assert.equal(state.ready, false);
  assert.deepEqual(
    state.conditions.map(({ name }) => name),
    ['comments/service'],
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
