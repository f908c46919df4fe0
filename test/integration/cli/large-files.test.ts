import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EXIT } from '../../../src/cli/exit-codes.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { MAX_RSS_MIB, peakOf, startMeasured, wideService, writePieces } from './large-files.ts';

const TMPDIR = temporaryDirectory();
const TIMEOUT = { timeout: 600_000 };

test(
  '200 MB of records from standard input are checked and sent in little memory, byte for byte',
  TIMEOUT,
  async (t) => {
    const service = await wideService(t);
    const env = { CONTENT_REVIEW_URL: service.url, CONTENT_REVIEW_API_KEY: 'key', TMPDIR };
    const { child, ended } = startMeasured(['import', 'submit', '-'], env, 'pipe');
    const { stdin } = child;
    assert.ok(stdin !== null);
    const records = Array.from(
      { length: 800 },
      (_, n) => `{"type":"post","data":{"id":${n},"text":"${'lorem ipsum '.repeat(20)}"}}\n`,
    ).join('');
    const digest = await writePieces(stdin, () => records);
    stdin.end();
    const result = await ended;
    assert.deepEqual([result.code, result.out], [EXIT.ok, 'i-1\n'], result.err);
    assert.equal(service.digest(), digest);
    t.diagnostic(`peak ${peakOf(result)} MiB`);
    assert.ok(peakOf(result) < MAX_RSS_MIB, `${peakOf(result)} MiB`);
  },
);

test('200 MB without a line end are refused in little memory', TIMEOUT, async (t) => {
  const service = await wideService(t);
  const env = { CONTENT_REVIEW_URL: service.url, CONTENT_REVIEW_API_KEY: 'key', TMPDIR };
  const { child, ended } = startMeasured(['import', 'submit', '-'], env, 'pipe');
  const { stdin } = child;
  assert.ok(stdin !== null);
  await writePieces(stdin, () => 'x'.repeat(1 << 20));
  stdin.end();
  const result = await ended;
  assert.equal(result.code, EXIT.usage);
  assert.match(result.err, /line 1: longer than 16 MiB: JSON Lines has one record per line/);
  assert.equal(service.digest(), undefined);
  assert.ok(peakOf(result) < MAX_RSS_MIB, `${peakOf(result)} MiB`);
});
