/** Verdicts of the console: one for each cause, with its page and its records. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Io } from '../../../../src/cli/io.ts';
import { createProgram } from '../../../../src/cli/program.ts';
import type { WaitView } from '../../../../src/core/ports/pipeline-view.ts';
import { type ConsoleState, consoleState } from '../../../../src/telemetry/console/state.ts';
import {
  busyScene,
  emptyScene,
  type Scene,
  troubleScene,
} from '../../../support/console/scenes.ts';

// biome-ignore lint/suspicious/noExplicitAny: scripts for browsers, checked by tsconfig.console.json
const load = (file: string): Promise<any> =>
  import(new URL(`../../../../src/telemetry/console/page/${file}`, import.meta.url).href);
const { conclusion, verdictsOf, worstOf } = await load('verdicts.js');
const { REASONS } = await load('reasons.js');
const { commandLine } = await load('command.js');

interface Verdict {
  readonly key: string;
  readonly level: string;
  readonly title: string;
  readonly text: string;
  readonly sinceMs: number | null;
  readonly runbook: string;
  readonly words: readonly string[];
}

const SECOND = 1_000;
const stateOf = ({ sources }: Scene): Promise<ConsoleState> => consoleState(sources, undefined);
const keysOf = (verdicts: readonly Verdict[]) => verdicts.map(({ key }) => key);

/** Waits of the first pipeline, each this old. */
function wait(shown: Scene, ms: number, ...reasons: readonly string[]): void {
  const [held] = shown.pipelines;
  assert.ok(held);
  const waits = reasons.map(
    (reason): WaitView => ({
      reason,
      sinceMs: shown.sources.now() - ms,
      waiting: 12,
      who: ['shard 1', 'shard 2'],
    }),
  );
  held.view = { ...held.view, waits };
}

/** Failed calls, the first this long ago and the last just now. */
function fail(shown: Scene, operation: string, code: string, detail?: string): void {
  shown.calls.ended(operation, code, detail);
  shown.calls.ended(operation, code, detail);
}

/** A scene whose clock stands 6 seconds after what `arrange` has begun. */
async function after6s(arrange: (shown: Scene) => void): Promise<ConsoleState> {
  let nowMs = Date.UTC(2026, 10, 21, 12);
  const shown = busyScene(nowMs, () => nowMs);
  arrange(shown);
  nowMs += 6 * SECOND;
  return await stateOf(shown);
}

const CASES: readonly {
  readonly what: string;
  readonly arrange: (shown: Scene) => void;
  readonly keys: readonly string[];
  readonly text?: RegExp;
}[] = [
  { what: 'normal operation', arrange: () => {}, keys: [] },
  {
    what: 'silent brokers, and all that follows',
    arrange: (shown) => {
      for (const broker of shown.brokers) broker.silentMs = 12 * SECOND;
      shown.health.notReady('comments/group', 'the brokers have not answered group g for 30 s');
      shown.health.notReady('comments/shards', 'claiming shard(s) 0, 1');
      wait(shown, 9 * SECOND, 'kafka', 'in_flight');
    },
    keys: ['kafka'],
    text: /^kafka-1\.example:9092, last heard at /,
  },
  {
    what: 'one silent broker of two',
    arrange: (shown) => {
      shown.brokers.push({ address: 'kafka-2.example:9092', silentMs: 5 * SECOND });
      wait(shown, 9 * SECOND, 'kafka');
    },
    keys: ['broker'],
    text: /^kafka-2/,
  },
  {
    what: 'a membership that was lost, and its shards',
    arrange: (shown) => {
      shown.health.notReady('comments/group', 'not a member of group g: it was closed');
      shown.health.notReady('comments/shards', 'shard 3 cannot be claimed');
      wait(shown, 9 * SECOND, 'kafka');
    },
    keys: ['condition/group'],
  },
  {
    what: 'a service that refuses connections, before anything waits for long',
    arrange: (shown) => fail(shown, 'get_batch', 'connect_failed', 'ECONNREFUSED'),
    keys: ['service'],
    text: /^Last error: connect_failed \(ECONNREFUSED\) from get_batch at \S+, 2 failures in a row\./,
  },
  {
    what: 'a service that does not answer, and what waits behind it',
    arrange: (shown) => {
      wait(shown, 9 * SECOND, 'service', 'in_flight', 'memory', 'transfer');
      block(shown, 'service');
    },
    keys: ['service'],
    text: /^Calls get no usable response\./,
  },
  {
    what: 'a single lost answer',
    arrange: (shown) => {
      shown.calls.ended('get_batch', 'reset');
      shown.calls.ended('get_batch', '200');
    },
    keys: [],
  },
  {
    what: 'a page of a proxy in place of the service',
    arrange: (shown) => fail(shown, 'create_batch', 'protocol'),
    keys: ['service'],
    text: /^Last error: protocol .* A proxy may respond/,
  },
  {
    what: 'a refused key: condition, wait, breaker and calls',
    arrange: (shown) => {
      fail(shown, 'get_batch', '401');
      shown.health.notReady('api-key', 'get_batch at host/path answered 401; …');
      wait(shown, 9 * SECOND, 'unauthorized', 'in_flight');
      block(shown, 'unauthorized');
    },
    keys: ['key'],
    text: /^Last error: HTTP 401 from get_batch/,
  },
  {
    what: 'a storage that refuses uploads',
    arrange: (shown) => fail(shown, 'upload', '403'),
    keys: ['storage'],
  },
  {
    what: 'the schema registry, as condition and wait',
    arrange: (shown) => {
      shown.health.notReady('schema registry', 'it is unreachable');
      wait(shown, 9 * SECOND, 'schema_registry');
    },
    keys: ['condition/schema registry'],
  },
  {
    what: 'a blocked type',
    arrange: (shown) => {
      wait(shown, 9 * SECOND, 'type_blocked');
      block(shown, 'type_blocked');
    },
    keys: ['type/profile'],
    text: /^A content type is blocked\. 7 batches failed in a row\. Next probe in/,
  },
  {
    what: 'a pause by an operator, and what it holds',
    arrange: (shown) => {
      wait(shown, 9 * SECOND, 'paused', 'in_flight');
      hold(shown);
    },
    keys: ['control'],
    text: /^By alice: the service moves\.$/,
  },
  {
    what: 'a key that could not be tried, since the service is unreachable',
    arrange: (shown) => {
      fail(shown, 'get_batch', 'connect_timeout');
      shown.health.notReady('service', 'get_batch at host/path could not be reached');
      shown.health.notReady('api-key', 'get_batch at host/path could not be reached');
    },
    keys: ['service'],
  },
  {
    what: 'dead letters',
    arrange: ({ letters }) =>
      Object.assign(letters, {
        letters: 39,
        records: 195,
        usual: 0.002,
        reasons: [
          { reason: 'not_json', letters: 37 },
          { reason: 'no_type', letters: 2 },
        ],
      }),
    keys: ['letters'],
    text: /^not_json \(37\), no_type \(2\)\. In the hour before: 0\.2 %\.$/,
  },
  {
    what: 'a wait of its own',
    arrange: (shown) => wait(shown, 9 * SECOND, 'in_flight', 'memory'),
    keys: ['wait/in_flight'],
    text: /Waiting: shard 1, shard 2 and 10 more\.$/,
  },
  {
    what: 'two causes: neither follows from the other',
    arrange: (shown) => {
      for (const broker of shown.brokers) broker.silentMs = 12 * SECOND;
      fail(shown, 'get_batch', '503');
    },
    keys: ['kafka', 'service'],
  },
];

function block({ pipelines: [held], sources }: Scene, reason: string): void {
  assert.ok(held);
  const nextTryMs = sources.now() + 20 * SECOND;
  const breakers = [{ type: 'profile', reason, failures: 7, nextTryMs }];
  held.view = { ...held.view, breakers };
}

function hold({ pipelines: [held], sources }: Scene): void {
  assert.ok(held);
  const nowMs = sources.now();
  const control = { by: 'alice', reason: 'the service moves', sinceMs: nowMs } as const;
  held.view = { ...held.view, control: { ...control, state: 'paused' } };
}

for (const { what, arrange, keys, text = /^/ } of CASES)
  test(`one verdict for each cause: ${what}`, async () => {
    const verdicts: Verdict[] = verdictsOf(await after6s(arrange));
    assert.deepEqual(keysOf(verdicts), keys);
    assert.match(verdicts[0]?.text ?? '', text);
  });

test('each verdict leads to a page of the runbook and to the records concerned', async () => {
  const states = await Promise.all(CASES.map(({ arrange }) => after6s(arrange)));
  const trouble = troubleScene();
  trouble.metrics.set('balance_items', { pipeline: 'comments' }, -2);
  const pages = [...states, await stateOf(trouble)]
    .flatMap((state): Verdict[] => verdictsOf(state))
    .map(({ runbook, words, key }) => {
      assert.ok(words.length > 0, key);
      return runbook;
    });
  const ofReasons = Object.values<{ runbook: string }>(REASONS).map(({ runbook }) => runbook);
  for (const page of new Set([...pages, ...ofReasons])) {
    const file = new URL(`../../../../docs/runbook/${page}.md`, import.meta.url);
    assert.ok(existsSync(file), page);
  }
});

test('each command of a verdict is one of the command line, with options that it takes', async () => {
  const program = createProgram({ out: async () => {}, err: () => {} } as unknown as Io);
  for (const { arrange } of CASES) {
    const state = await after6s(arrange);
    for (const { words } of verdictsOf(state) as Verdict[]) {
      const line: string = commandLine(state, words).split('main.js ')[1];
      const [name = '', ...rest] = line.split(' ');
      let command = program.commands.find((one) => one.name() === name);
      command = command?.commands.find((one) => one.name() === rest[0]) ?? command;
      assert.ok(command, line);
      const options = new Set(command.options.map(({ long }) => long));
      for (const option of rest.filter((word) => word.startsWith('--')))
        assert.ok(options.has(option), `${name} has no ${option}`);
      if (name === 'resume') assert.match(line, /^resume comments (--type spam )?--config \S+$/);
    }
  }
});

test('a verdict about dead letters has the command that lists them', async () => {
  const dead = CASES.find(({ keys }) => keys[0] === 'letters');
  assert.ok(dead);
  const [verdict]: Verdict[] = verdictsOf(await after6s(dead.arrange));
  assert.match(verdict?.title ?? '', /^39 of 195 records of the last minute became dead letters$/);
  assert.equal(
    verdict?.words.join(' '),
    'dead-letters list --since 2m --reason not_json --reason no_type',
  );
});

test('dead letters need attention above their usual share, above the objective, and from three on', async () => {
  const isSeen = async (letters: number, records: number, usual: number | null) => {
    const shown = busyScene();
    Object.assign(shown.letters, { letters, records, usual });
    return verdictsOf(await stateOf(shown)).length > 0;
  };
  const rows: readonly [letters: number, records: number, usual: number | null, seen: boolean][] = [
    [2, 4, null, false],
    [3, 4, null, true],
    [9, 1_000, 0, false],
    [20, 1_000, 0, true],
    [20, 1_000, 0.01, false],
    [40, 1_000, 0.01, true],
    [60, 1_000, 0.06, true],
  ];
  for (const [letters, records, usual, seen] of rows)
    assert.equal(await isSeen(letters, records, usual), seen, `${letters} of ${records}, ${usual}`);
});

test('only a wait that lasts needs attention, and a start has time', async () => {
  const shown = busyScene();
  wait(shown, 4 * SECOND, 'kafka');
  assert.deepEqual(verdictsOf(await stateOf(shown)), []);
  shown.health.notReady('comments/group', 'joining group g');
  const state = await stateOf(shown);
  assert.deepEqual(keysOf(verdictsOf(state)), ['condition/group']);
  const starting = { ...state, startedMs: state.nowMs - 3 * SECOND };
  assert.deepEqual(conclusion(starting, verdictsOf(starting)), { level: 'warn', text: 'Starting' });
});

test('the conclusion claims nothing that is not known: neither while Kafka owes an answer nor with an unknown lag', async () => {
  const empty = await stateOf(emptyScene());
  const busy = await stateOf(busyScene());
  assert.deepEqual(conclusion(busy, []), { level: 'good', text: 'All is well with this replica' });
  assert.equal(conclusion(empty, []).text, 'All is well, and nothing is pending');
  const unknown = {
    ...empty,
    pipelines: empty.pipelines.map((one) => ({ ...one, lag: null })),
  };
  assert.equal(conclusion(unknown, []).text, 'All is well');
  const waiting = {
    ...empty,
    brokers: { heardAgoMs: 2_000, brokers: [{ address: 'k', silentMs: 2_000 }] },
  };
  assert.deepEqual(verdictsOf(waiting), []);
  assert.deepEqual(conclusion(waiting, []), {
    level: 'warn',
    text: 'Waiting for a response from Kafka',
  });
  const unsure = await after6s((shown) => {
    shown.calls.ended('get_batch', 'reset');
    fail(shown, 'create_batch', '404');
  });
  const [call] = unsure.service.failing;
  assert.ok(call);
  const failing = [{ ...call, sinceMs: unsure.nowMs - 1_500 }];
  const young = { ...unsure, service: { ...unsure.service, failing } };
  assert.deepEqual(verdictsOf(young), []);
  assert.equal(conclusion(young, []).text, 'Waiting for a response from the service');
  const conditions = [{ name: 'started', reason: 'still starting' }];
  assert.deepEqual(conclusion({ ...busy, conditions }, []), { level: 'warn', text: 'Starting' });
});

test('conditions of another pipeline belong to its tab', async () => {
  const shown = busyScene();
  shown.health.notReady('profile-import/group', 'not a member of group g: it was closed');
  const state = await stateOf(shown);
  assert.deepEqual(verdictsOf(state), []);
  const other: Verdict[] = verdictsOf(state, 'profile-import');
  assert.deepEqual([keysOf(other), worstOf(other)], [['condition/group'], 'bad']);
});

test('whatever the facts, no cause stands twice, and silent brokers hide what follows from them', async () => {
  const reasons = Object.keys(REASONS);
  await fc.assert(
    fc.asyncProperty(
      fc.subarray(reasons),
      fc.subarray(['group', 'shards', 'service', 'api-key']),
      fc.boolean(),
      fc.boolean(),
      async (waits, conditions, silent, refused) => {
        const verdicts: Verdict[] = verdictsOf(
          await after6s((shown) => {
            wait(shown, 6 * SECOND, ...waits);
            for (const name of conditions)
              shown.health.notReady(/^[gs][rh]/.test(name) ? `comments/${name}` : name, 'it fails');
            for (const broker of shown.brokers) broker.silentMs = silent ? 9 * SECOND : 0;
            if (refused) fail(shown, 'get_batch', '401');
          }),
        );
        const keys = keysOf(verdicts);
        assert.equal(new Set(keys).size, keys.length);
        if (silent) assert.equal(keys[0], 'kafka');
        if (silent) assert.ok(!keys.some((key) => /group|shards|membership|claim/.test(key)));
        if (refused) assert.ok(keys.includes('key') && !keys.includes('condition/service'));
      },
    ),
    { numRuns: 60 },
  );
});
