/** The page's own rules, without a browser. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { ConsoleSearch } from '../../../../src/telemetry/console/search.ts';
import { type ConsoleState, consoleState } from '../../../../src/telemetry/console/state.ts';
import { busyScene, emptyScene, type Scene } from '../../../support/console/scenes.ts';

/** Scripts for browsers: their types are checked by tsconfig.console.json. */
// biome-ignore lint/suspicious/noExplicitAny: what they take is checked there
const load = (file: string): Promise<any> =>
  import(new URL(`../../../../src/telemetry/console/page/${file}`, import.meta.url).href);
const { conclusion } = await load('verdicts.js');
const { commandLine, quoted } = await load('command.js');
const { each, say } = await load('dom.js');
const { conclusionOf, factsOf } = await load('explain.js');
const { explainCommand, explainQuery, loginOf, mistakeIn } = await load('explain.js');
const { age, bytes, clock, count, duration, rate } = await load('format.js');
const { REASONS } = await load('reasons.js');
const { Throughput } = await load('sparkline.js');
const stateOfScene = ({ sources }: Scene): Promise<ConsoleState> =>
  consoleState(sources, undefined);

test('every wait reason has texts', () => {
  const source = readFileSync(
    new URL('../../../../src/pipeline/limits/wait-reasons.ts', import.meta.url),
    'utf8',
  );
  const union = source.slice(
    source.indexOf('export type WaitReason'),
    source.indexOf(';', source.indexOf('export type WaitReason')),
  );
  assert.deepEqual(
    Object.keys(REASONS).sort(),
    [...union.matchAll(/\| '(\w+)'/g)].map(([, reason]) => reason).sort(),
  );
});

test('durations have two units at most, and numbers their separators', () => {
  const told = [0, 0.0421, 3.14, 12.4, 59.6, 60, 252, 3_600, 5_040, 90_000, null].map(duration);
  assert.deepEqual(told, [
    '0 s',
    '42 ms',
    '3.1 s',
    '12 s',
    '1 min',
    '1 min',
    '4 min 12 s',
    '1 h',
    '1 h 24 min',
    '1 d 1 h',
    '–',
  ]);
  assert.deepEqual([age(-5), age(400), age(61_999)], ['now', 'now', '1 min 1 s']);
  assert.deepEqual(
    [count(1_234_567), count(null), rate(0.333), rate(1_234)],
    ['1,234,567', '–', '0.33', '1,234'],
  );
  assert.deepEqual([bytes(0), bytes(1_536), bytes(64 * 2 ** 20)], ['0 B', '1.5 KiB', '64 MiB']);
  assert.match(
    clock(Date.now() - 3 * 86_400_000, Date.now()),
    /^\w+ \d+, \d\d:\d\d:\d\d$|^\d+ \w+, \d\d:\d\d:\d\d$/,
  );
  assert.match(clock(Date.now() + 3 * 86_400_000, Date.now()), /^\w+ \d+, \d\d:\d\d:\d\d$/);
  assert.equal(clock(Number.MAX_SAFE_INTEGER, Date.now()), '–');
});

test('a steady stream has a steady rate, and a sparkline reaches back ten minutes', () => {
  const throughput = new Throughput();
  assert.deepEqual([throughput.perSecond, throughput.points], [null, '']);
  for (let at = 0; at < 400; at++)
    throughput.add({ atMs: 1_000_000 + at * 2_000, ended: 700 + at * 50 });
  const { rates } = throughput;
  for (const { perSecond } of rates) assert.ok(Math.abs(perSecond - 25) < 1e-9, `${perSecond}`);
  assert.equal(throughput.perSecond, 25);
  assert.ok(rates.length >= 300 && rates.length <= 306, `${rates.length}`);
  const points = String(throughput.points).split(' ');
  assert.equal(points.length, rates.length);
  assert.equal(points.at(-1), '200.0,1.0');
});

test('the verdict of a replica without all shards is limited to itself', async () => {
  const state = await stateOfScene(busyScene());
  const withShards = (assigned: number, jobCount: number) => ({
    ...state,
    pipelines: state.pipelines.map((pipeline) => ({
      ...pipeline,
      assigned,
      shardCount: 4,
      inFlight: jobCount,
      lag: { records: 0, knownMs: state.nowMs },
    })),
    detail: { ...state.detail, jobCount },
  });
  const said = (assigned: number, jobCount: number) =>
    conclusion(withShards(assigned, jobCount), []).text;
  assert.deepEqual(
    [said(4, 1), said(4, 0)],
    ['All is well', 'All is well, and nothing is pending'],
  );
  assert.equal(said(3, 1), 'All is well with this replica');
  assert.equal(said(0, 0), 'All is well with this replica, and nothing is pending here');
});

test('commands use the running program and configuration, quoted for a shell', async () => {
  const state = await stateOfScene(emptyScene());
  const two = await stateOfScene(busyScene());
  assert.equal(
    commandLine(state, ['audit']),
    '/usr/local/bin/node /app/dist/cli/main.js audit --config /etc/content-review-connector/config.yaml',
  );
  assert.match(commandLine(two, ['journal']), /config\.yaml --pipeline comments$/);
  const named = (name: string) => ({ ...two, detail: { ...two.detail, name } });
  assert.match(commandLine(named('a b'), ['journal']), /config\.yaml --pipeline 'a b'$/);
  const listed = commandLine(named('list'), ['dead-letters', 'list']);
  assert.match(listed, /config\.yaml --pipeline list$/);
  assert.match(commandLine(named('list'), ['resume', 'list']), /config\.yaml$/);
  assert.equal(
    explainCommand(
      { by: 'record', text: '2:1371' },
      { ...state, program: ['/opt/no de'], configFile: "it's" },
    ),
    "'/opt/no de' explain 2:1371 --config 'it'\\''s'",
  );
  for (const text of ['', '2', '-1:2', '2:1;ls', '2:1e3', 'content-1371'])
    assert.equal(typeof mistakeIn({ by: 'record', text }), 'string', text);
  for (const text of ['2:1371', 'content-events-2-1371', 'content-events-2-1371#1'])
    assert.equal(mistakeIn({ by: 'record', text }), null, text);
  const ending = (by: string, text: string) =>
    explainCommand({ by, text, hours: '24' }, state).split(' explain ')[1];
  assert.equal(
    ending('key', '-it;s'),
    "'--key=-it;s' --since 24h --config /etc/content-review-connector/config.yaml",
  );
  assert.match(ending('decision', 'a == `1`'), /^--decisions '--where=a == `1`' --since 24h /);
  assert.equal(
    String(explainQuery({ by: 'decision', text: 'a&b', hours: '1' }, 'p q')),
    'pipeline=p+q&where=a%26b&on=decisions&hours=1',
  );
  assert.equal(String(explainQuery({ by: 'record', text: '2:1' }, 'p')), 'pipeline=p&record=2%3A1');
  fc.assert(
    fc.property(fc.string(), (text) =>
      assert.match(quoted(text), /^[\w./:@%+=,-]+$|^'(?:[^']|'\\'')*'$|^\$'[^\n]*'$/s),
    ),
  );
});

test('no character of others moves the cursor of a terminal that a command is pasted into', () => {
  assert.equal(quoted('a\u0003\nrm -rf ~'), "$'a\\u0003\\u000arm -rf ~'");
  const names = ["\u001b[2J'; date #", '\u202egnp', '\u{e0041}\\n', "it's\t"];
  for (const name of names) {
    const { stdout } = spawnSync('bash', ['-c', `printf %s ${quoted(name)}`], {
      env: { ...process.env, LC_ALL: 'C.UTF-8' },
    });
    assert.equal(stdout.toString(), name);
    assert.doesNotMatch(quoted(name), /[\p{Cc}\p{Cf}]/u);
  }
});

test('a list whose items have one key does not grow with each update', () => {
  type Node = { dataset: { key?: string }; remove(): void; nextElementSibling: Node | null };
  const children: Node[] = [];
  const create = (): Node => ({
    dataset: {},
    remove() {
      children.splice(children.indexOf(this), 1);
    },
    get nextElementSibling() {
      return children[children.indexOf(this) + 1] ?? null;
    },
  });
  const parent = {
    children,
    get firstElementChild() {
      return children[0] ?? null;
    },
    insertBefore(node: Node, place: Node | null) {
      if (children.includes(node)) children.splice(children.indexOf(node), 1);
      children.splice(place === null ? children.length : children.indexOf(place), 0, node);
    },
  };
  for (const items of ['abab', 'abab', 'baba', 'ab', 'bbb']) {
    each(
      parent,
      [...items],
      (item: string) => item,
      create,
      () => {},
    );
    assert.equal(children.map(({ dataset }) => dataset.key).join(''), items);
  }
});

test('text of others on the page shows control and format characters as escapes', () => {
  const node = { textContent: '' };
  say(node, 'Type \u202eabc\u0007 is paused');
  assert.equal(node.textContent, 'Type \\u202eabc\\u0007 is paused');
});

test('a password is sent as it is, in every script', async () => {
  const password = async () => 'pässwörd: 密码';
  const search = new ConsoleSearch(
    { enabled: true, listenHost: '0.0.0.0', password, logger: { warn() {} } },
    async () => ({ records: [] }),
  );
  const { signal } = new AbortController();
  const answer = await search.answer(
    { query: 'key=k', headers: loginOf(await password()), signal },
    0,
  );
  assert.equal(answer.status, 200);
});

test('an answer has its conclusion, and a record its facts', () => {
  assert.equal(conclusionOf({ records: [] }), '');
  assert.equal(
    conclusionOf({ on: 'events', matching: 0, searched: 67, records: [], notes: ['one note'] }),
    'No event of this time matches; 67 records read. one note.',
  );
  assert.equal(
    conclusionOf({ on: 'decisions', matching: 12, searched: 67, records: [{}, {}] }),
    '12 decisions match, the newest 2 shown; 67 records read.',
  );
  const place = { topic: 'd', partition: 0, offset: 1, timestampMs: 0, eventId: 'e' };
  const job = { attempt: 2, remoteId: 'b', type: 't', count: 3, createdMs: 0, live: true };
  const facts = factsOf(
    {
      source: { timestampMs: null, valueBytes: null },
      jobs: [{ ...job, service: { status: 'PENDING' } }],
      terminals: [
        { kind: 'decision', decision: null, deadLetter: null, ...place },
        {
          ...{ kind: 'dead_letter', decision: null, ...place },
          deadLetter: { reason: 'not_json', stage: 'decode' },
        },
      ],
      notes: ['n'],
    },
    1_000,
  ) as [string, string][];
  assert.deepEqual(
    facts.map(([name]) => name),
    ['attempt 2', 'decision', 'dead letter', 'note'],
  );
  assert.match(
    facts[0]?.[1] ?? '',
    /^batch b, type t, 3 rows, created .*, live, at the service: PENDING$/,
  );
  assert.match(facts[1]?.[1] ?? '', /^unreadable, d 0:1, .*, event id e$/);
});
