/** The package's types agree with the JSON Schemas. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { DECLARATIONS, renderedDeclarations } from '../../../dev/contracts/declarations.ts';

const index = readFileSync(new URL('index.ts', DECLARATIONS), 'utf8');
const pkg = JSON.parse(readFileSync(new URL('../../package.json', DECLARATIONS), 'utf8'));

test('the package exports every declaration and the files of contracts/', () => {
  const declared = [...renderedDeclarations().matchAll(/^export (?:type|interface) (\w+)/gm)].map(
    ([, name = '']) => name,
  );
  const exported = declared.filter((name) => !name.endsWith('Members'));
  for (const name of exported)
    assert.match(
      index,
      new RegExp(`\\b${name}\\b`),
      `${name} is not exported by src/contracts/index.ts`,
    );
  assert.equal(pkg.exports['./contracts'].types, './dist/src/contracts/index.d.ts');
  assert.equal(pkg.exports['./contracts/*'], './dist/contracts/*');
  assert.match(pkg.scripts.build, /'contracts'/);
});
