/** Searches for values whose objects take more memory than is reserved for them. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { WorstShape } from '../../support/events/shape-search.ts';

/** Number of rounds. The program can run more by hand and prints the worst shapes. */
const ROUNDS = 12;
const SEARCH = fileURLToPath(new URL('../../support/events/shape-search.ts', import.meta.url));

test('no random shape of JSON or Protobuf takes more memory than is reserved for it', () => {
  const child = spawnSync(process.execPath, ['--expose-gc', SEARCH, String(ROUNDS), '3'], {
    encoding: 'utf8',
  });
  assert.equal(child.status, 0, child.stderr);
  const worst = JSON.parse(child.stdout) as WorstShape[];
  assert.deepEqual(
    worst.map(({ format }) => format),
    ['JSON', 'Protobuf'],
  );
  for (const { format, share, value } of worst)
    assert.ok(share > 0.2 && share <= 1, `${format}: ${share} of the reserved memory by ${value}`);
});
