/** Verdicts of the console. Each problem has one cause, even if a condition and a wait report it. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import {
  type Facts,
  NORMAL,
  REASONS,
  verdictOf,
} from '../../../../src/telemetry/console/causes.ts';
import { pipelineView, waitView } from '../../../support/console/scenes.ts';

const NOW_MS = Date.UTC(2026, 10, 21, 12);
const LONG_AGO_MS = NOW_MS - 9_000;

const RELOAD = { problem: '', restart: '', applied: '', appliedMs: 0 };
/** Returns the facts of a healthy pipeline with changes. */
const facts = (changes: Partial<Facts>, view: Parameters<typeof pipelineView>[0] = {}): Facts => ({
  view: pipelineView({ assigned: 8, ...view }),
  reload: RELOAD,
  conditions: [],
  stuck: [],
  balance: 0,
  kafkaSilentMs: 0,
  upMs: 60_000,
  nowMs: NOW_MS,
  ...changes,
});
const waits = (...reasons: readonly string[]) => ({
  waits: reasons.map((reason) => waitView(reason, LONG_AGO_MS)),
});
const unmet = (name: string, reason: string) => ({ conditions: [{ name, reason }] });
const blocked = (reason: string) => ({
  breakers: [{ type: 'spam', reason, failures: 7, nextTryMs: NOW_MS }],
});
const paused = { state: 'paused', by: 'alice', reason: 'a move', sinceMs: LONG_AGO_MS } as const;

const CASES: readonly [what: string, facts: Facts, titles: readonly string[], text?: RegExp][] = [
  ['normal operation', facts({}), []],
  [
    'silent brokers, with membership and shards',
    facts(
      {
        kafkaSilentMs: 12_000,
        conditions: [
          {
            name: 'kafka',
            reason: 'the brokers have not responded to group g; shard 3 cannot be claimed',
          },
        ],
      },
      waits('kafka', 'in_flight'),
    ),
    ['No Kafka broker responds'],
  ],
  [
    'a lost membership with its wait',
    facts(unmet('kafka', 'not a member of group g: it was closed'), waits('kafka')),
    ['Not ready: kafka'],
    /^Not a member of group g/,
  ],
  [
    'an unavailable service as condition, wait and breaker',
    facts(unmet('service', 'get_batch at host could not be reached'), {
      ...waits('service', 'in_flight', 'memory'),
      ...blocked('service'),
    }),
    ['The service is unavailable'],
    /^Get_batch at host could not be reached$/,
  ],
  [
    'a refused key as condition and wait',
    facts(unmet('api_key', 'get_batch responded with 401'), waits('api_key')),
    ['The service refuses the API key'],
    /^Get_batch responded with 401$/,
  ],
  [
    'an unavailable schema registry as condition and wait',
    facts(unmet('schema_registry', 'it is unreachable'), waits('schema_registry')),
    ['The schema registry is unavailable'],
  ],
  [
    'a wait with its waiters',
    facts({}, waits('in_flight', 'memory')),
    ['A partition is waiting for records under review'],
    /Waiting: shard 1, shard 2 and 10 more\.$/,
  ],
  [
    'a blocked type whose probe is under review',
    facts({}, blocked('type_blocked')),
    ['Type spam is blocked'],
    /spam \(failures in a row: 7\)\.$/,
  ],
  [
    'a pause by an operator',
    facts({}, { ...waits('paused', 'in_flight'), control: paused }),
    ['The pipeline is paused'],
    /^By alice: a move\. /,
  ],
  [
    'a stuck transaction and a broken balance, which are independent',
    facts({
      stuck: [{ shard: 'comments/shard-1', seconds: 70 }],
      balance: -2,
    }),
    ['comments/shard-1 is stuck', 'comments is out of balance by -2'],
  ],
  [
    'changes that require a restart, in addition to a full partition',
    facts({ reload: { ...RELOAD, restart: 'kafka.brokers' } }, waits('in_flight')),
    ['A partition is waiting for records under review', 'A restart is required'],
  ],
  ['another condition', facts(unmet('disk', 'full')), ['Not ready: disk'], /^Full$/],
];

for (const [what, given, titles, text = /^/] of CASES)
  test(`each problem has one cause: ${what}`, () => {
    const { causes } = verdictOf(given);
    assert.deepEqual(
      causes.map(({ title }) => title),
      titles,
    );
    assert.match(causes[0]?.text ?? '', text);
  });

test('each cause links to a runbook page, and each wait reason has a description', () => {
  const pages = [
    ...CASES.flatMap(([, given]) => verdictOf(given).causes.map(({ runbook }) => runbook)),
    ...Object.values(REASONS).map(({ runbook }) => runbook),
  ];
  for (const page of new Set(pages)) {
    const file = new URL(`../../../../docs/runbook/${page}.md`, import.meta.url);
    assert.ok(existsSync(file), page);
  }
  const source = readFileSync(
    new URL('../../../../src/pipeline/limits/wait-reasons.ts', import.meta.url),
    'utf8',
  );
  const start = source.indexOf('export type WaitReason');
  const union = source.slice(start, source.indexOf(';', start));
  assert.deepEqual(
    [...Object.keys(REASONS), ...NORMAL].sort(),
    [...union.matchAll(/\| '(\w+)'/g)].map(([, reason]) => reason).sort(),
  );
});

test('only a long wait with an unusual reason is a cause', () => {
  const short = pipelineView({ waits: [waitView('service', NOW_MS - 4_000)] });
  assert.deepEqual(verdictOf({ ...facts({}), view: short }).causes, []);
  const { level, causes } = verdictOf(facts({}, waits('memory', 'transfer')));
  assert.deepEqual([level, causes], ['good', []]);
});

test('a slow start and a claim that cannot be completed are causes', () => {
  const causes = (reason: string) =>
    verdictOf(facts(unmet('kafka', reason))).causes.map(({ level, title }) => [level, title]);
  assert.deepEqual(causes('joining group g'), [['warn', 'Not ready: kafka']]);
  assert.deepEqual(causes('claiming shard(s) 1'), []);
  const unread = 'claiming shard(s) 1; partition 3 of events cannot be read';
  assert.deepEqual(causes(unread), [['bad', 'Not ready: kafka']]);
});

test('the verdict states only known facts', () => {
  const text = (given: Facts) => verdictOf(given).text;
  assert.equal(text(facts({})), 'All is well');
  assert.equal(text(facts({}, { assigned: 3 })), 'All is well with this instance');
  assert.equal(text(facts({ kafkaSilentMs: 2_000 })), 'Waiting for a response from Kafka');
  for (const reason of ['joining group g', 'claiming shard(s) 1', 'not reached yet'])
    assert.equal(text(facts({ ...unmet('x', reason), upMs: 5_000 })), `Not ready yet: ${reason}`);
  assert.equal(text(facts({ balance: 1 })), 'One thing needs attention');
  const both = facts({ balance: 1 }, waits('service'));
  assert.deepEqual([verdictOf(both).level, text(both)], ['bad', '2 things need attention']);
  assert.equal(verdictOf(facts({}, waits('service'))).level, 'warn');
});
