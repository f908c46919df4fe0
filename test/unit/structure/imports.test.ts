/** What the lint rule of biome.json (noRestrictedImports) cannot say for itself: that it covers every folder, and one rule finer than it. */
import assert from 'node:assert/strict';
import { globSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const FOLDERS = readdirSync(path.join(ROOT, 'src'), { withFileTypes: true }).map((entry) => {
  assert.ok(entry.isDirectory(), `src/${entry.name} is in no folder: the rules of biome.json are made for folders`);
  return entry.name;
});

interface Override {
  readonly includes: readonly string[];
  readonly linter: {
    readonly rules: {
      readonly style?: {
        readonly noRestrictedImports?: {
          readonly level: string;
          readonly options: { readonly patterns: readonly { readonly group: readonly string[] }[] };
        };
      };
    };
  };
}

function rulesByFolder(): Map<string, readonly (readonly string[])[]> {
  const { overrides } = JSON.parse(readFileSync(path.join(ROOT, 'biome.json'), 'utf8')) as { overrides: readonly Override[] };
  const rules = overrides.flatMap(({ includes, linter }) => {
    const rule = linter.rules.style?.noRestrictedImports;
    if (rule === undefined) return [];
    assert.equal(rule.level, 'error');
    const groups = rule.options.patterns.map(({ group }) => group);
    return includes.map((glob): [string, typeof groups] => [/^src\/([a-z]+)\/\*\*$/.exec(glob)?.[1] ?? glob, groups]);
  });
  return new Map(rules);
}

test('every folder of src has an import rule in biome.json, and every rule begins by refusing every folder', () => {
  const rules = rulesByFolder();
  assert.deepEqual([...rules.keys()].sort(), [...FOLDERS].sort());
  for (const [folder, [layers = [], packages = []]] of rules) {
    const refused = /^\*\*\/\{(.+)\}\/\*\*$/.exec(layers[0] ?? '')?.[1]?.split(',');
    assert.deepEqual(refused?.sort(), [...FOLDERS].sort(), `the rule of src/${folder}`);
    assert.ok(layers.includes('**/{dev,test}/**'), `the rule of src/${folder} lets dev and test in`);
    assert.deepEqual(packages.slice(0, 3), ['**', '!./**', '!../**'], `the rule of src/${folder} lets any package in`);
  }
});

/** kafkajs, or the way to it without the mends: imported or exported for its values, imported for its effects, or called for. */
const LOADS_KAFKAJS =
  /^(?:import|export)\b(?! type\b)[^;'"()]*'(?:kafkajs(?:\/[^']*)?|[^']*\/kafkajs-internals\.ts)'|\('(?:kafkajs['/]|[^']*\/kafkajs-internals\.ts')/m;

test('only the mends load kafkajs: everybody else takes its types, or it would be loaded without them', () => {
  const FIXES = ['fixes', 'internals', 'leader-fixes', 'network-fixes', 'produce-fixes', 'refusals'].map(
    (name) => `src/kafka/kafkajs-${name}.ts`,
  );
  const loading = globSync('src/**/*.ts', { cwd: ROOT })
    .map((file) => file.split(path.sep).join('/'))
    .filter((file) => LOADS_KAFKAJS.test(readFileSync(path.join(ROOT, file), 'utf8')));
  assert.deepEqual(loading.sort(), FIXES);
});
