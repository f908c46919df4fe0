import assert from 'node:assert/strict';
import { createWriteStream } from 'node:fs';
import path from 'node:path';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { test } from 'node:test';
import { EXIT } from '../../../packages/client/src/cli/exit-codes.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { startCli } from './cli-process.ts';
import { MAX_RSS_MIB, peakOf, startMeasured, wideService, writePieces } from './large-files.ts';

test('a file of 200 MB is sent in little memory, byte for byte', {
  timeout: 600_000,
}, async (t) => {
  const service = await wideService(t);
  const env = { CONTENT_REVIEW_URL: service.url, CONTENT_REVIEW_API_KEY: 'key' };
  const file = path.join(temporaryDirectory(), 'records.jsonl');
  const out = createWriteStream(file);
  const records = Array.from(
    { length: 800 },
    (_, n) => `{"type":"post","data":{"id":${n},"text":"${'lorem ipsum '.repeat(20)}"}}\n`,
  ).join('');
  const digest = await writePieces(out, () => records);
  await new Promise<void>((resolve) => {
    out.end(resolve);
  });
  const result = await startMeasured(['import', 'submit', file], env).ended;
  assert.deepEqual([result.code, result.out], [EXIT.ok, 'i-1\n'], result.err);
  assert.equal(service.digest(), digest);
  t.diagnostic(`peak ${peakOf(result)} MiB`);
  assert.ok(peakOf(result) < MAX_RSS_MIB, `${peakOf(result)} MiB`);
});

test('standard input that exceeds its limit is refused, and nothing is created', {
  timeout: 600_000,
}, async (t) => {
  const service = await wideService(t);
  const env = { CONTENT_REVIEW_URL: service.url, CONTENT_REVIEW_API_KEY: 'key' };
  const { child, ended } = startCli(['import', 'submit', '-'], env, 'pipe');
  const input = child.stdin as Writable;
  // The command ends before it has read all.
  const chunks = Readable.from(Array.from({ length: 300 }, () => Buffer.alloc(1024 * 1024, 'x')));
  await pipeline(chunks, input).catch(() => undefined);
  const result = await ended;
  assert.equal(result.code, EXIT.usage, result.err);
  assert.match(result.err, /exceeds 256\.0 MB.*Save it to a file/);
  assert.equal(service.digest(), undefined);
});
