/** The chart's schema of `config`: what it refuses never starts, so it must refuse nothing that the connector takes. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { parse } from 'yaml';
import { VALUES_SCHEMA } from '../../../dev/helm/config-schema.ts';
import type { Option } from '../../../src/config/option.ts';
import { CONFIGURATION } from '../../../src/config/schema.ts';

const { properties } = JSON.parse(readFileSync(VALUES_SCHEMA, 'utf8'));
const validate = new Ajv2020({ allErrors: true, allowUnionTypes: true }).compile(properties.config);
const problems = (config: unknown) =>
  validate(config)
    ? []
    : (validate.errors ?? []).map(
        ({ instancePath, params }) => `${instancePath} ${Object.values(params)}`,
      );
const read = (file: string) =>
  parse(readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8'), { merge: true });
/** It has every option. */
const example = () => read('config/example.yaml');

/** A configuration in which every option is this. */
function filled(info: Option, value: unknown): unknown {
  if (info.kind === 'value') return value;
  if (info.kind === 'list') return [filled(info.item, value)];
  return Object.fromEntries(
    Object.entries(info.shape).map(([name, member]) => [name, filled(member, value)]),
  );
}

test('every option is there, whatever is written for it: values, variables, secrets in each form, nothing', () => {
  assert.deepEqual(problems(example()), []);
  const variable = ['$', '{ANY:-5}'].join('');
  for (const value of [
    variable,
    '',
    null,
    5,
    true,
    { env: 'A' },
    { file: 'secrets/b' },
    ['a'],
    { map: { a: 'b' } },
  ])
    assert.deepEqual(problems(filled(CONFIGURATION, value)), []);
  assert.deepEqual(problems({ ...example(), log: null, kafka: { brokers: 'a:1', tls: null } }), []);
});

test('the configurations of the repository are accepted', () => {
  assert.deepEqual(problems(read('config/demo.yaml')), []);
  const sets = 'helm/content-review-connector/ci';
  for (const file of readdirSync(new URL(`../../../${sets}`, import.meta.url)))
    assert.deepEqual(problems(read(`${sets}/${file}`).config), [], file);
});

test('a name that no option has is refused, wherever it is', () => {
  const config = example();
  config.kafkaa = {};
  config.kafka.broker = 'a:1';
  config.kafka.sasl.oauth.tokenEndpiont = 'x';
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
