/** The chart's schema of `config`. It must accept every configuration that the connector accepts. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { parse } from 'yaml';
import { VALUES_SCHEMA } from '../../../dev/docs/config-schema.ts';
import type { Option } from '../../../src/config/option.ts';
import { CONFIGURATION } from '../../../src/config/schema.ts';

const { properties, $defs } = JSON.parse(readFileSync(VALUES_SCHEMA, 'utf8'));
const validate = new Ajv2020({
  allErrors: true,
  allowUnionTypes: true,
  strictTypes: false,
}).compile({
  ...properties.config,
  $defs,
});
const problems = (config: unknown) =>
  validate(config)
    ? []
    : (validate.errors ?? []).map(
        ({ instancePath, params }) => `${instancePath} ${Object.values(params)}`,
      );
const read = (file: string) =>
  parse(readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8'), { merge: true });
/** Returns the example, which has the options that new users need. */
const example = () => read('config/example.yaml');

/** Returns a configuration in which every option has this value. */
function filled(info: Option, value: unknown): unknown {
  if (info.kind === 'value') return value;
  if (info.kind === 'list') return [filled(info.item, value)];
  if (info.kind === 'named') return value === null ? null : { other: filled(info.item, value) };
  return Object.fromEntries(
    Object.entries(info.shape).map(([name, member]) => [name, filled(member, value)]),
  );
}

test('every option is accepted, also from a variable or without a value', () => {
  assert.deepEqual(problems(example()), []);
  assert.deepEqual(problems(filled(CONFIGURATION, ['$', '{ANY:-5}'].join(''))), []);
  const { pipelines, ...process } = CONFIGURATION.shape;
  assert.deepEqual(problems(filled({ ...CONFIGURATION, shape: process }, null)), []);
  assert.deepEqual(problems({ ...example(), log: null, kafka: { brokers: 'a:1', tls: null } }), []);
});

test('the values of the chart are accepted', () => {
  const chart = 'helm/content-review-connector';
  const sets = readdirSync(new URL(`../../../${chart}/ci`, import.meta.url));
  for (const file of ['values.yaml', ...sets.map((name) => `ci/${name}`)])
    assert.deepEqual(problems(read(`${chart}/${file}`).config), [], file);
});

test('values of the wrong type or outside the allowed range are refused', () => {
  assert.notDeepEqual(problems({ http: { port: 70_000 } }), []);
  assert.notDeepEqual(problems({ memory: { budget: 64 } }), []);
  assert.notDeepEqual(problems({ log: { level: 'loud' } }), []);
});

test('unknown names and missing required options are refused at every level', () => {
  const config = example();
  config.kafkaa = {};
  config.kafka.broker = 'a:1';
  config.kafka.sasl = { oauth: { tokenEndpiont: 'x' } };
  config.pipelines[0].batch.maxrows = 5;
  assert.deepEqual(problems(config).sort(), [
    ' kafkaa',
    '/kafka broker',
    '/kafka/sasl/oauth tokenEndpiont',
    '/pipelines/0/batch maxrows',
  ]);
  assert.deepEqual(problems({ pipelines: [{ source: {} }] }), [
    '/pipelines/0 name',
    '/pipelines/0/source topic',
  ]);
});
