/** The page's own rules, without a browser. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { type ConsoleState, consoleState } from '../../../../src/telemetry/console/state.ts';
import { busyScene, emptyScene, type Scene } from '../../../support/console/scenes.ts';

/** Scripts for browsers: their types are checked by tsconfig.console.json. */
// biome-ignore lint/suspicious/noExplicitAny: what they take is checked there
const load = (file: string): Promise<any> =>
  import(new URL(`../../../../src/telemetry/console/page/${file}`, import.meta.url).href);
const { conclusion } = await load('verdicts.js');
const { commandLine, quoted } = await load('command.js');
const { each, say } = await load('dom.js');
const { age, bytes, clock, count, duration, rate } = await load('format.js');
const { REASONS } = await load('reasons.js');
const { Throughput } = await load('sparkline.js');
const stateOfScene = ({ sources }: Scene): Promise<ConsoleState> =>
  consoleState(sources, undefined);

const NOW_MS = Date.UTC(2026, 10, 21, 12);

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
    clock(NOW_MS - 3 * 86_400_000, NOW_MS),
    /^\w+ \d+, \d\d:\d\d:\d\d$|^\d+ \w+, \d\d:\d\d:\d\d$/,
  );
  assert.match(clock(NOW_MS + 3 * 86_400_000, NOW_MS), /^\w+ \d+, \d\d:\d\d:\d\d$/);
  assert.equal(clock(Number.MAX_SAFE_INTEGER, NOW_MS), '–');
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
      lag: 0,
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
    commandLine({ ...state, program: ['/opt/no de'], configFile: "it's" }, ['explain', '2:1371']),
    "'/opt/no de' explain 2:1371 --config 'it'\\''s'",
  );
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
