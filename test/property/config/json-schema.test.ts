/** Compares the JSON Schema for editors with the connector's own check. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { Ajv } from 'ajv';
import fc from 'fast-check';
import { parse } from 'yaml';
import { CONFIG_SCHEMA } from '../../../dev/docs/config-schema.ts';
import { formatPath, type Path } from '../../../src/config/load/problem.ts';
import { readOptions } from '../../../src/config/load/read-options.ts';
import type { Option } from '../../../src/config/option.ts';
import { CONFIGURATION } from '../../../src/config/schema.ts';
import { PAGES, stepsOfPage } from '../../support/docs/pages.ts';

const ROOT = new URL('../../../', import.meta.url);
const validate = new Ajv({ allErrors: true, strictTypes: false }).compile(
  JSON.parse(readFileSync(CONFIG_SCHEMA, 'utf8')),
);

interface Place {
  readonly path: Path;
  readonly allowed: string;
}

/** Places of all options and groups of a configuration with one pipeline. */
const { options, groups } = placesOf();

function placesOf(): { options: Place[]; groups: Path[] } {
  const found = { options: [] as Place[], groups: [] as Path[] };
  const walk = (option: Option, path: Path): void => {
    if (option.kind === 'value') found.options.push({ path, allowed: option.allowed });
    else if (option.kind === 'list') walk(option.item, [...path, 0]);
    else if (option.kind === 'named') walk(option.item, [...path, 'other']);
    else {
      found.groups.push(path);
      for (const [name, member] of Object.entries(option.shape)) walk(member, [...path, name]);
    }
  };
  walk(CONFIGURATION, []);
  return found;
}

const MINIMAL = {
  kafka: { brokers: ['b:1'] },
  service: { baseUrl: 'https://s', apiKey: 'k' },
  services: { other: { baseUrl: 'https://o', apiKey: 'k' } },
  pipelines: [{ name: 'a', source: { topic: 't' } }],
};

/** Returns the configuration with a value at a path. */
function withValue(document: unknown, [step, ...rest]: Path, value: unknown): unknown {
  if (step === undefined) return value;
  if (typeof step === 'number') return [withValue((document as unknown[])[step], rest, value)];
  const members = (document ?? {}) as Readonly<Record<string, unknown>>;
  return { ...members, [step]: withValue(members[step], rest, value) };
}

const accepts = (document: unknown): boolean => validate(document);
const findings = (document: unknown) =>
  readOptions(
    CONFIGURATION,
    { value: document, templates: new Map() },
    { env: {}, directory: '/nowhere' },
  ).findings;

const plain = fc.oneof(
  fc.constantFrom('', ' ', 'a', 'auto', 'none', 'true', '5', '-1', '30s', '1.5m', '8MiB', '8MB'),
  fc.constantFrom('b:1', 'https://s/v1', 'ftp://s', 'a b', 'a..b', '<source.topic>.decisions'),
  fc.string({ maxLength: 5 }).filter((text) => !text.includes('$' + '{')),
  fc.integer({ min: -5, max: 300_000 }),
  fc.double({ noDefaultInfinity: true, noNaN: true }),
  fc.boolean(),
  fc.constant(null),
);
const written = fc.oneof(
  { weight: 4, arbitrary: plain },
  fc.array(plain, { maxLength: 3 }),
  fc.dictionary(fc.constantFrom('env', 'file', 'field', 'constant', 'map', 'name', 'x'), plain, {
    maxKeys: 2,
  }),
);

describe('the JSON Schema of the configuration', () => {
  it('accepts everything that the connector accepts, and refuses wrong types and values out of range', () => {
    fc.assert(
      fc.property(fc.constantFrom(...options), written, ({ path, allowed }, value) => {
        const document = withValue(MINIMAL, path, value);
        const found = findings(document);
        if (found.length === 0) {
          assert.ok(accepts(document), `${formatPath(path)}: ${JSON.stringify(validate.errors)}`);
          return;
        }
        // A schema cannot completely check the contents of strings, lists and mappings.
        const isPlain = typeof value !== 'object' || value === null;
        const isClosed = /^(one of|true or false|a whole number)/.test(allowed);
        if (isPlain && (typeof value !== 'string' || (isClosed && !/\d/.test(value))))
          assert.ok(!accepts(document), `${formatPath(path)}: ${JSON.stringify(value)}`);
      }),
      { numRuns: 500 },
    );
  });

  it('refuses an unknown option in every group, and a plain value in place of a group', () => {
    for (const path of groups) {
      assert.ok(!accepts(withValue(MINIMAL, [...path, 'nonsense'], 1)), formatPath(path));
      assert.ok(!accepts(withValue(MINIMAL, path, 1)), formatPath(path));
    }
  });

  it('requires the same options as the connector', () => {
    for (const { path } of options) {
      const document = withValue(MINIMAL, path, undefined);
      const isRequired = findings(document).length > 0;
      assert.equal(accepts(JSON.parse(JSON.stringify(document))), !isRequired, formatPath(path));
    }
  });

  it('accepts every configuration of the documentation', () => {
    const pages = PAGES.flatMap((page) =>
      stepsOfPage(page).flatMap((step) =>
        step.kind === 'file' && /^pipelines:/m.test(step.text) ? [{ page, text: step.text }] : [],
      ),
    );
    assert.ok(pages.length > 2);
    for (const { page, text } of pages) {
      const document = parse(text);
      assert.ok(accepts(document), `${page}: ${JSON.stringify(validate.errors)}`);
    }
  });

  for (const file of ['config/example.yaml', 'config/demo.yaml', 'dev/compose/connector.yaml'])
    it(`accepts ${file}, which refers to the schema`, () => {
      const text = readFileSync(new URL(file, ROOT), 'utf8');
      const [, named = ''] = /^# yaml-language-server: \$schema=(\S+)\n/.exec(text) ?? [];
      assert.equal(new URL(named, new URL(file, ROOT)).href, CONFIG_SCHEMA.href);
      assert.ok(accepts(parse(text, { merge: true })), JSON.stringify(validate.errors));
    });
});
