/** Checks that docs/endpoints.md lists every readiness condition of the code. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

const ROOT = new URL('../../../', import.meta.url);
/** Matches names of conditions in calls, in constants, and after the name of a pipeline. */
const NAMED =
  /notReady\('([^']+)'|_CONDITION = '([^']+)'|get #condition\(\)[^`]*`\$\{[^}]*\}([^`]+)`/g;

test('docs/endpoints.md lists exactly the conditions of /readyz', () => {
  const found = globSync('src/**/*.ts', { cwd: ROOT.pathname }).flatMap((file) =>
    [...readFileSync(new URL(file, ROOT), 'utf8').matchAll(NAMED)].map(([, ...names]) =>
      names.find((name) => name !== undefined),
    ),
  );
  const page = readFileSync(new URL('docs/endpoints.md', ROOT), 'utf8');
  const table = /## \/readyz[\s\S]*?\n\n((?:\|.*\n)+)/.exec(page)?.[1] ?? '';
  const documented = [...table.matchAll(/^\| (`.*?`) \|/gm)]
    .flatMap(([, names = '']) => names.split(', '))
    .map((name) => name.replace(/^`(<pipeline>)?|`$/g, ''));
  assert.ok(found.includes('/kafka'), 'the expression must find the names');
  assert.deepEqual([...new Set(documented)].sort(), [...new Set(found)].sort());
});
