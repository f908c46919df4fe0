/** The page's own rules, without a browser. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { type ConsoleState, consoleState } from '../../../../src/telemetry/console/state.ts';
import {
  busyScene,
  emptyScene,
  type Scene,
  troubleScene,
} from '../../../support/console/scenes.ts';

/** Scripts for browsers: their types are checked by tsconfig.console.json. */
// biome-ignore lint/suspicious/noExplicitAny: what they take is checked there
const load = (file: string): Promise<any> =>
  import(new URL(`../../../../src/telemetry/console/page/${file}`, import.meta.url).href);
const { attention, verdict } = await load('attention.js');
const { commandLine, quoted } = await load('command.js');
const { explainCommand } = await load('explain.js');
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

test('normal operation needs no attention', async () => {
  const [busy, empty] = [await stateOfScene(busyScene()), await stateOfScene(emptyScene())];
  assert.deepEqual([attention(busy), attention(empty)], [[], []]);
  assert.deepEqual(verdict(busy, []), { level: 'good', text: 'All is well with this replica' });
  assert.deepEqual(verdict(empty, []), {
    level: 'good',
    text: 'All is well, and nothing is pending',
  });
  assert.deepEqual(verdict({ ...busy, ready: false }, []), { level: 'warn', text: 'Starting' });
});

test('the worst comes first; a condition that is also a wait reason appears once; normal waits do not appear', async () => {
  const shown = troubleScene();
  shown.metrics.set('balance_items', { pipeline: 'comments' }, -2);
  const state = await stateOfScene(shown);
  const items = attention(state);
  assert.deepEqual(
    items.map(({ key, level }: { key: string; level: string }) => `${level} ${key}`),
    ['bad balance comments', 'bad condition comments/service', 'warn breaker profile'],
  );
  assert.deepEqual(verdict(state, items), { level: 'bad', text: '3 things need attention' });
});

test('only a wait that lasts needs attention', async () => {
  const state = await stateOfScene(busyScene());
  const waiting = (ms: number) =>
    attention({
      ...state,
      detail: {
        ...state.detail,
        waits: [
          { reason: 'kafka', sinceMs: state.nowMs - ms, waiting: 12, who: ['shard 1', 'shard 2'] },
        ],
      },
    });
  assert.deepEqual(waiting(4_000), []);
  assert.match(waiting(6_000)[0].text, /Waiting: shard 1, shard 2 and 10 more\.$/);
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
      lag: 0,
    })),
    detail: { ...state.detail, jobCount },
  });
  const said = (assigned: number, jobCount: number) =>
    verdict(withShards(assigned, jobCount), []).text;
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
  assert.match(commandLine(two, ['journal'], 'a b'), /config\.yaml --pipeline 'a b'$/);
  assert.equal(
    explainCommand(
      { partition: '02', offset: '1371' },
      { ...state, program: ['/opt/no de'], configFile: "it's" },
    ),
    "'/opt/no de' explain 2:1371 --config 'it'\\''s'",
  );
  const trouble = troubleScene();
  trouble.metrics.set('balance_items', { pipeline: 'comments' }, -2);
  assert.match(
    attention(await stateOfScene(trouble))[0].text,
    /dist\/cli\/main\.js audit --config \/etc\//,
  );
  for (const wrong of [
    { partition: '' },
    { partition: '-1' },
    { offset: '1;ls' },
    { offset: '1e3' },
  ])
    assert.equal(explainCommand({ partition: '2', offset: '1371', ...wrong }, state), null);
  fc.assert(
    fc.property(fc.string(), (text) =>
      assert.match(quoted(text), /^[\w./:@%+=,-]+$|^'(?:[^']|'\\'')*'$/s),
    ),
  );
});
