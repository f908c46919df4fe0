/** The package has types that agree with the JSON Schemas. npm run generate compares their text. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { DECLARATIONS } from '../../../dev/contracts/declarations.ts';

const pkg = JSON.parse(readFileSync(new URL('../package.json', DECLARATIONS), 'utf8'));

test('the package exports the declarations and the files of contracts/', () => {
  assert.deepEqual(pkg.exports['./contracts'], {
    types: './dist/contracts/index.d.ts',
    default: './dist/contracts/index.js',
  });
  assert.ok(existsSync(DECLARATIONS) && existsSync(new URL('index.js', DECLARATIONS)));
  assert.equal(pkg.exports['./contracts/*'], './dist/contracts/*');
  assert.match(pkg.scripts.build, /'contracts'/);
});
