import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import files from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryDirectory } from '../../../../../test/support/temporary-directory.ts';
import { WatchedFiles } from '../../../src/base/watched-files.ts';

test('a file system that hangs does not block callers once there is a value', {
  timeout: 30_000,
}, async (t) => {
  const file = path.join(temporaryDirectory(), 'key');
  writeFileSync(file, 'one');
  const watched = new WatchedFiles([file], (textOf) => textOf(file));
  assert.equal(await watched.current(), 'one');
  const hanging = t.mock.method(files, 'stat', () => new Promise(() => {}));
  syncBuiltinESMExports();
  t.after(() => {
    hanging.mock.restore();
    syncBuiltinESMExports();
  });
  assert.equal(await watched.current(), 'one');
  const waiting = new Promise((resolve) => setImmediate(resolve, 'still waiting'));
  assert.equal(await Promise.race([watched.current(), waiting]), 'one', 'callers wait only once');
  assert.equal(hanging.mock.callCount(), 1, 'all callers share one read');
});
