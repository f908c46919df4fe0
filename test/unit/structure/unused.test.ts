/** Checks for unused declarations. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Option, outputName } from '../../../src/config/option.ts';
import { CONFIGURATION } from '../../../src/config/schema.ts';
import { FAILURE_TABLE } from '../../../src/core/outcome/failure-table.ts';

const SRC = fileURLToPath(new URL('../../../src', import.meta.url));

/** Returns the contents of all files of src, except the files for which `isLeftOut` returns true. */
function sourcesWithout(isLeftOut: (file: string) => boolean): string {
  const files = globSync('**/*.ts', { cwd: SRC }).filter((file) => !isLeftOut(file));
  return files.map((file) => readFileSync(`${SRC}/${file}`, 'utf8')).join('\n');
}

/** Returns the path and the property name of each option. */
function optionNames(option: Option, path: string, name: string): (readonly [string, string])[] {
  if (option.kind === 'value') return [[path, name]];
  if (option.kind === 'named') return [[path, name]];
  if (option.kind === 'list') return optionNames(option.item, `${path}[]`, name);
  return Object.entries(option.shape).flatMap(([key, member]) =>
    optionNames(member, path === '' ? key : `${path}.${key}`, outputName(key, member)),
  );
}

test('every option is read', () => {
  const text = sourcesWithout(
    (file) => file.startsWith('config/options/') || file === 'config/schema.ts',
  );
  const unread = optionNames(CONFIGURATION, '', '').filter(
    ([, name]) => !new RegExp(`\\b${name}\\b`).test(text),
  );
  assert.deepEqual(unread, []);
});

test('every failure of a batch is used by the code', () => {
  const text = sourcesWithout((file) => file === 'core/outcome/failure-table.ts');
  const unraised = FAILURE_TABLE.flatMap(({ job }) => {
    if (job === undefined || text.includes(`'${job.failure}'`)) return [];
    const isReaction = FAILURE_TABLE.some(
      ({ reaction }) => reaction?.do === 'fail' && reaction.as === job.failure,
    );
    return isReaction ? [] : [job.failure];
  });
  assert.deepEqual(unraised, []);
});
