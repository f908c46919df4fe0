import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../../../src/base/service-error.ts';
import { resultRows } from '../../../src/results.ts';

const KIB = 1024;

for (const [what, filler, maxBytes, message] of [
  ['a row of commas', ',', KIB * KIB, /more than 16384 columns/],
  ['a file of blank lines', '\n', 3 * KIB * KIB, /a row that is larger than allowed/],
] as const) {
  test(`${what} ends the reading of results before it fills the memory`, async () => {
    let read = 0;
    const piece = Buffer.alloc(64 * KIB, filler);
    const chunks = async function* () {
      yield Buffer.from('Content,Status,Acme result,Labels\nx,SUCCESS,spam,\n');
      for (; read < 90 * KIB * KIB; read += piece.length) yield piece;
    };
    const rows = resultRows(chunks(), undefined, { maxRowBytes: KIB * KIB });
    assert.equal((await rows.next()).value?.content, 'x');
    await assert.rejects(
      rows.next(),
      (error) => error instanceof ServiceError && message.test(error.message),
    );
    assert.ok(read < maxBytes, `${read} bytes were read`);
  });
}
