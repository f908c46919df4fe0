/** The memory that `batch submit` needs for files of 200 MB; csv-parse takes its time for them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EXIT } from '../../src/cli/exit-codes.ts';
import {
  MAX_RSS_MIB,
  peakOf,
  startMeasured,
  wideService,
  writePieces,
} from '../integration/cli/large-files.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const TMPDIR = temporaryDirectory();

test('200 MB of CSV from standard input are checked and sent in little memory, byte for byte', {
  timeout: 300_000,
}, async (t) => {
  const service = await wideService(t);
  const env = { CONTENT_REVIEW_URL: service.url, CONTENT_REVIEW_API_KEY: 'key', TMPDIR };
  const { child, ended } = startMeasured(['batch', 'submit', '-', '--type', 'post'], env, 'pipe');
  const { stdin } = child;
  assert.ok(stdin !== null);
  const rows = Array.from(
    { length: 800 },
    (_, n) => `"${'lorem ipsum, '.repeat(20)}",user-${n},2026-11-22\n`,
  ).join('');
  const digest = await writePieces(stdin, (n) => (n === 0 ? 'Content,author,date\n' : rows));
  stdin.end();
  const result = await ended;
  assert.deepEqual([result.code, result.out], [EXIT.ok, 'b-1\n'], result.err);
  assert.equal(service.digest(), digest);
  t.diagnostic(`peak ${peakOf(result)} MiB`);
  assert.ok(peakOf(result) < MAX_RSS_MIB, `${peakOf(result)} MiB`);
});
