/** Differences between configurations, and the options that a reload can change. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stringify } from 'yaml';
import { changesOf } from '../../../src/config/changes.ts';
import { parseConfig } from '../../../src/config/load.ts';
import { merge } from '../../support/stack/stack.ts';

const BASE = {
  kafka: { brokers: ['b:1'] },
  service: { baseUrl: 'https://s', apiKey: 'first' },
  pipelines: [{ name: 'a', source: { topic: 't' } }],
};

/** Returns the configuration with changes of its only pipeline and of other groups. */
const config = (pipeline: object = {}, other: object = {}) => {
  const only = merge({ ...BASE.pipelines[0] }, { ...pipeline });
  const document = stringify(merge({ ...BASE, pipelines: [only] }, { ...other }));
  const origin = { file: 'connector.yaml', directory: '/nowhere' };
  return parseConfig(document, { KEY: 'first' }, origin);
};

const differences = (...[one, other]: Parameters<typeof changesOf>) => {
  const { applied, restart } = changesOf(one, other);
  return { applied: applied.map(({ text }) => text), restart };
};

test('limits, objectives and the log level are applied, with both values as they are written', () => {
  const next = config(
    {
      batch: { maxRows: 100, maxAge: '1m', types: { chat: { maxAge: '2s' } } },
      source: { maxInFlight: 5_000 },
      objective: { age: '2h', share: 0.9 },
    },
    { log: { level: 'debug' } },
  );
  const { config: merged } = changesOf(config(), next);
  assert.deepEqual(merged, next);
  assert.deepEqual(differences(config(), next), {
    applied: [
      'pipelines[0].source.maxInFlight from 200000 to 5000',
      'pipelines[0].batch.maxRows from 5000 to 100',
      'pipelines[0].batch.maxAge from 30s to 1m',
      'pipelines[0].batch.types from {} to {chat: {maxAge: 2s}}',
      'pipelines[0].objective.age from 1h to 2h',
      'pipelines[0].objective.share from 0.99 to 0.9',
      'log.level from info to debug',
    ],
    restart: [],
  });
  assert.deepEqual(differences(next, next), { applied: [], restart: [] });
});

test('shares of lanes and values of a quota are applied; another set of lanes, their rules or another set of limits requires a restart', () => {
  const lanes = (share: number, more: object = {}) => ({
    lanes: { live: { types: ['chat'], share, ...more } },
  });
  assert.deepEqual(differences(config(lanes(0.5)), config(lanes(0.25, { age: '5m' }))).applied, [
    'pipelines[0].lanes from {live: {types: ["chat"], share: 0.5}} to {live: {types: ["chat"], share: 0.25, age: 5m}}',
  ]);
  assert.deepEqual(
    differences(config({ quota: { rowsPerDay: 9 } }), config({ quota: { rowsPerDay: 7 } })).applied,
    ['pipelines[0].quota from {rowsPerDay: 9} to {rowsPerDay: 7}'],
  );
  const fixed: [object, object][] = [
    [lanes(0.5), lanes(0.5, { when: 'urgent' })],
    [lanes(0.5), lanes(0.5, { types: ['chat', 'post'] })],
    [lanes(0.5), { lanes: { ...lanes(0.5).lanes, bulk: { types: ['old'], share: 0.1 } } }],
    [lanes(0.5), {}],
    [{ quota: { rowsPerDay: 9 } }, {}],
    [{}, { quota: { rowsPerDay: 9 } }],
  ];
  for (const [one, other] of fixed)
    assert.deepEqual(differences(config(one), config(other)).applied, [], JSON.stringify(other));
});

test('topics, formats and addresses require a restart, are named, and do not prevent other changes', () => {
  const next = config(
    { source: { topic: 'u', maxInFlight: 5_000 } },
    { kafka: { brokers: ['c:1'] } },
  );
  const { config: merged, applied, restart } = changesOf(config(), next);
  assert.deepEqual(
    applied.map(({ path }) => path),
    ['pipelines[0].source.maxInFlight'],
  );
  assert.deepEqual(restart, [
    'kafka.brokers',
    'pipelines[0].source.topic',
    'pipelines[0].output.topic',
    'pipelines[0].output.subject',
    'pipelines[0].deadLetters.topic',
  ]);
  assert.deepEqual(merged, config({ source: { maxInFlight: 5_000 } }));
});

test('pipelines and services that are added, removed or replaced require a restart', () => {
  const two = config({}, { pipelines: [{ name: 'b', source: { topic: 't' } }, BASE.pipelines[0]] });
  const { applied, restart } = differences(config({ batch: { maxRows: 7 } }), two);
  assert.deepEqual(applied, []);
  assert.ok(restart.includes('pipelines[1]') && restart.includes('pipelines[0].batch.maxRows'));
  const services = { extra: { baseUrl: 'https://e', apiKey: 'k' } };
  const shadow = { name: 'b', service: 'extra', source: { topic: 't' } };
  const more = config({}, { services, pipelines: [BASE.pipelines[0], shadow] });
  assert.deepEqual(differences(more, config()).restart, ['services.extra', 'pipelines[1]']);
  assert.deepEqual(differences(config(), more).restart, ['services.extra', 'pipelines[1]']);
});

test('a changed secret requires a restart and is not shown', () => {
  const key = (apiKey: unknown) => config({}, { service: { ...BASE.service, apiKey } });
  assert.deepEqual(differences(key('first'), key('second')), {
    applied: [],
    restart: ['service.apiKey'],
  });
  assert.deepEqual(differences(key({ env: 'KEY' }), key({ env: 'KEY' })).restart, []);
  const header = (value: string) =>
    config({}, { service: { ...BASE.service, transfer: { uploadHeaders: { 'x-a': value } } } });
  const { restart } = differences(header('one'), header('two'));
  assert.deepEqual(restart, ['service.transfer.uploadHeaders']);
});

test('a limit that fits only together with an option that requires a restart is not applied', () => {
  const next = config(
    { batch: { maxBytes: '100MiB' } },
    { memory: { budget: '1GiB' }, log: { level: 'warn' } },
  );
  const { config: merged, applied, restart } = changesOf(config(), next);
  assert.deepEqual([merged, applied], [config(), []]);
  assert.deepEqual(restart, ['memory.budget', 'pipelines[0].batch.maxBytes', 'log.level']);
});
