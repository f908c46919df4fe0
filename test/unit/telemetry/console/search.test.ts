/** Guard of the console's search: who may search, how often, and for how long. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ConsoleSearch,
  type RunSearch,
  SearchFailed,
  type SearchQuery,
  type SearchSettings,
} from '../../../../src/telemetry/console/search.ts';

const NOW_MS = 1_000_000_000;
const PASSWORD = 'correct horse';

function searchOf(
  settings: Partial<SearchSettings> = {},
  run: RunSearch = async () => ({ records: [] }),
  limitMs?: number,
) {
  const search = new ConsoleSearch(
    {
      ...{ enabled: true, listenHost: '127.0.0.1', password: undefined },
      ...{ logger: { warn: () => undefined }, ...settings },
    },
    run,
    limitMs,
  );
  const ask = (
    query = 'key=k',
    {
      authorization,
      signal,
      afterMs = 0,
    }: { authorization?: string; signal?: AbortSignal; afterMs?: number } = {},
  ) =>
    search.answer(
      {
        query,
        headers: authorization === undefined ? {} : { authorization },
        signal: signal ?? new AbortController().signal,
      },
      NOW_MS + afterMs,
    );
  return { search, ask };
}

const basic = (pair: string) => `Basic ${Buffer.from(pair).toString('base64')}`;
const reasonOf = ({ body }: { body: object }) => (body as { reason?: string }).reason ?? '';

test('without a password only a console on the loopback interface searches', async () => {
  for (const listenHost of ['127.0.0.1', 'localhost', '::1', '127.8.0.1']) {
    const { search, ask } = searchOf({ listenHost });
    assert.deepEqual([search.access, (await ask()).status], ['open', 200], listenHost);
  }
  let runs = 0;
  const run = async () => ({ runs: ++runs });
  for (const settings of [
    { listenHost: '0.0.0.0' },
    { listenHost: '10.0.0.5' },
    { listenHost: 'localhost.example' },
    { listenHost: '::' },
    { enabled: false },
    { enabled: false, listenHost: '0.0.0.0', password: async () => PASSWORD },
  ]) {
    const { search, ask } = searchOf(settings, run);
    const answer = await ask('key=k', { authorization: basic(`x:${PASSWORD}`) });
    assert.deepEqual([search.access, answer.status], ['off', 403], JSON.stringify(settings));
    assert.match(
      reasonOf(answer),
      /^the search is off: it requires http\.search, and http\.password/,
    );
  }
  assert.equal(runs, 0);
});

test('with a password each search needs it, also on the loopback interface', async () => {
  for (const listenHost of ['0.0.0.0', '127.0.0.1']) {
    const { search, ask } = searchOf({ listenHost, password: async () => PASSWORD });
    assert.equal(search.access, 'password');
    for (const pair of [`:${PASSWORD}`, `anyone:${PASSWORD}`])
      assert.equal((await ask('key=k', { authorization: basic(pair) })).status, 200, pair);
    assert.equal((await ask()).status, 401);
    for (const authorization of [
      '',
      'Basic',
      'Basic !',
      `Bearer ${PASSWORD}`,
      basic(PASSWORD),
      basic('x:'),
      basic(`x:${PASSWORD} `),
      basic(`x:${PASSWORD.slice(1)}`),
      basic('x:x'.repeat(5_000)),
    ]) {
      const answer = await ask('key=k', { authorization });
      assert.equal(answer.status, 401, authorization);
      assert.doesNotMatch(JSON.stringify(answer), new RegExp(PASSWORD));
    }
  }
});

test('a password cannot be guessed: after ten wrong ones in a minute none is compared until its end', async () => {
  const warnings: string[] = [];
  const logger = { warn: (_: object, message: string) => warnings.push(message) };
  const { ask } = searchOf({ password: async () => PASSWORD, logger });
  const statusWith = async (pair: string, afterMs = 0) =>
    (await ask('key=k', { authorization: basic(pair), afterMs })).status;
  for (let n = 0; n < 20; n++) assert.equal((await ask()).status, 401);
  assert.equal(await statusWith(`:${PASSWORD}`), 200, 'a request without a password is no guess');

  const guesses = await Promise.all(Array.from({ length: 64 }, (_, n) => statusWith(`:${n}`)));
  assert.equal(guesses.filter((status) => status === 401).length, 10);
  assert.equal(await statusWith(`:${PASSWORD}`, 59_999), 429);
  assert.equal(await statusWith(`:${PASSWORD}`, 60_000), 200);
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] ?? '', /too many wrong passwords/);
  for (let n = 0; n < 10; n++) await statusWith(':x', 70_000);
  assert.equal(await statusWith(`:${PASSWORD}`, -1), 200, 'the clock was set back');
});

test('a rotated password is read again', async () => {
  let password = 'old';
  const { ask } = searchOf({ password: async () => password });
  const statusWith = async (pair: string) =>
    (await ask('key=k', { authorization: basic(pair) })).status;
  assert.deepEqual([await statusWith(':old'), await statusWith(':new')], [200, 401]);
  password = 'new';
  assert.deepEqual([await statusWith(':old'), await statusWith(':new')], [401, 200]);
});

test('a query is checked, with its time and its limit', async () => {
  const seen: SearchQuery[] = [];
  const { ask } = searchOf({}, async (query) => {
    seen.push(query);
    return {};
  });
  await ask('pipeline=p&where=a+%3D%3D+%27%3F%27&on=decisions&hours=2');
  await ask('record=2:1371');
  assert.deepEqual(seen, [
    {
      ...{ pipeline: 'p', record: undefined, key: undefined, where: "a == '?'" },
      ...{ on: 'decisions', sinceMs: NOW_MS - 2 * 3_600_000, limit: 10 },
    },
    {
      ...{ pipeline: undefined, record: '2:1371', key: undefined, where: undefined },
      ...{ on: 'events', sinceMs: NOW_MS - 24 * 3_600_000, limit: 10 },
    },
  ]);
  for (const query of [
    '',
    'key=',
    'record=1:2&key=k',
    'key=k&hours=x',
    'key=k&hours=0',
    'key=k&hours=1e9',
  ])
    assert.equal((await ask(query)).status, 400, query);
  assert.equal(seen.length, 2);
});

test('one search runs at a time, and the next one after it, whatever became of it', async () => {
  const ends: PromiseWithResolvers<object>[] = [];
  const { ask } = searchOf({}, () => {
    const end = Promise.withResolvers<object>();
    ends.push(end);
    return end.promise;
  });
  const first = ask();
  assert.equal((await ask()).status, 429);
  ends[0]?.resolve({ records: [] });
  assert.equal((await first).status, 200);
  const second = ask();
  ends[1]?.reject(new SearchFailed('the topic posts has no partition 7'));
  const failed = await second;
  assert.deepEqual([failed.status, reasonOf(failed)], [422, 'the topic posts has no partition 7']);
  const third = ask();
  ends[2]?.reject(new Error('a bug'));
  await assert.rejects(third, /a bug/);
  const fourth = ask();
  ends[3]?.resolve({});
  assert.equal((await fourth).status, 200);
});

test('a search ends at its time limit and with its sender', async () => {
  const untilAborted: RunSearch = (_, signal) =>
    new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error));
    });
  const late = await searchOf({}, untilAborted, 20).ask();
  assert.equal(late.status, 504);
  assert.match(reasonOf(late), /^no answer within 0\.02 s: shorten the time, or run the command/);
  const { ask } = searchOf({}, untilAborted);
  const gone = new AbortController();
  const answer = ask('key=k', { signal: gone.signal });
  gone.abort(new Error('disconnected'));
  assert.equal((await answer).status, 499);
});
