/** Hashes of src: a FIPS policy refuses MD5 and SHA-1, and the call throws there. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const SRC = fileURLToPath(new URL('../../../src', import.meta.url));

test('no file of src names a hash that a FIPS policy refuses', () => {
  const found = globSync('**/*.{ts,js}', { cwd: SRC }).filter((file) =>
    /['"`](md[45]|sha-?1|ripemd\w*)['"`]/i.test(readFileSync(`${SRC}/${file}`, 'utf8')),
  );
  assert.deepEqual(found, []);
});
