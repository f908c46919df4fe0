/** Options that a reload changes, and options that require a restart. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stringify } from 'yaml';
import { changesOf } from '../../../src/config/changes.ts';
import { parseConfig } from '../../../src/config/load.ts';
import { merge } from '../../support/stack/stack.ts';

const PIPELINE = { name: 'a', source: { topic: 't' } };
const SERVICE = { baseUrl: 'https://s', apiKey: 'k' };

const config = (pipeline: object, other: object = {}) => {
  const pipelines = [merge(PIPELINE, { ...pipeline })];
  const document = { kafka: { brokers: ['b:1'] }, service: SERVICE, pipelines, ...other };
  return parseConfig(stringify(document), {}, { file: 'f', directory: '/nowhere' });
};
const lanes = (share: number, more = {}) => ({ lanes: { live: { types: ['x'], share, ...more } } });
const quota = (rowsPerDay: number, more = {}) => ({ quota: { rowsPerDay, ...more } });
const header = (value: string) => ({
  service: { ...SERVICE, transfer: { uploadHeaders: { 'x-a': value } } },
});

type Given = Parameters<typeof config>;
const CASES: readonly [Given, Given, applied: string, restart?: string][] = [
  [
    [{}],
    [{ batch: { maxAge: '1m', types: { x: { maxRows: 3 } } } }, { log: { level: 'warn' } }],
    'pipelines[0].batch.maxAge from 30s to 1m, pipelines[0].batch.types from {} to {x: {maxRows: 3}}, log.level from info to warn',
  ],
  [
    [lanes(0.5)],
    [lanes(0.25, { age: '5m' })],
    'pipelines[0].lanes from {live: {types: ["x"], share: 0.5}} to {live: {types: ["x"], share: 0.25, age: 5m}}',
  ],
  [[lanes(0.5)], [lanes(0.5, { when: 'urgent' })], '', 'pipelines[0].lanes'],
  [[quota(9)], [quota(10)], 'pipelines[0].quota from {rowsPerDay: 9} to {rowsPerDay: 10}'],
  [[quota(9e3)], [quota(1e3)], 'pipelines[0].quota from {rowsPerDay: 9000} to {rowsPerDay: 1000}'],
  // There might be less than one row for each shard.
  [[quota(9e3)], [quota(999)], '', 'pipelines[0].quota'],
  [[quota(9)], [quota(9, { callsPerSecond: 5 })], '', 'pipelines[0].quota'],
  [
    [quota(9, { rowsPerMinute: 5 })],
    [{ quota: { rowsPerMinute: 5, rowsPerDay: 10 } }],
    'pipelines[0].quota from {rowsPerMinute: 5, rowsPerDay: 9} to {rowsPerMinute: 5, rowsPerDay: 10}',
  ],
  [
    [{ batch: { maxRows: 7 } }],
    [{ name: 'b', output: { topic: 'o' } }, { log: { level: 'warn' } }],
    'log.level from info to warn',
    'pipelines[0].name, pipelines[0].source.group, pipelines[0].batch.maxRows, pipelines[0].journal.topic, pipelines[0].output.topic, pipelines[0].output.subject',
  ],
  [[{}, header('one')], [{}, header('two')], '', 'service.transfer.uploadHeaders'],
];

test('options that require no restart are applied, and all others are listed', () => {
  for (const [before, after, expected, expectedRestart = ''] of CASES) {
    const { applied, restart } = changesOf(config(...before), config(...after));
    const texts = applied.map(({ text }) => text).join(', ');
    assert.deepEqual([texts, restart.join(', ')], [expected, expectedRestart]);
  }
});
