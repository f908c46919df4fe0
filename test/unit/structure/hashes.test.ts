/** Hashes in src and packages. With a FIPS policy, calls for MD5 and SHA-1 throw. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

test('no source file uses a hash that a FIPS policy refuses', () => {
  const sources = globSync('{src,packages/*/src}/**/*.{ts,js}', { cwd: ROOT });
  const found = sources.filter((file) =>
    /['"`](md[45]|sha-?1|ripemd\w*)['"`]/i.test(readFileSync(`${ROOT}/${file}`, 'utf8')),
  );
  assert.deepEqual(found, []);
});
