import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { gathered } from '../../../src/service/transfer.ts';

test('pieces contain the bytes of the chunks, and all but the last have the given size', async () => {
  const chunk = fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes));
  await fc.assert(
    fc.asyncProperty(fc.array(chunk), fc.integer({ min: 1, max: 50 }), async (chunks, size) => {
      const pieces: Buffer[] = [];
      for await (const piece of gathered(each(chunks), size)) pieces.push(piece);
      assert.deepEqual(Buffer.concat(pieces), Buffer.concat(chunks));
      for (const piece of pieces.slice(0, -1)) assert.equal(piece.length, size);
      assert.ok(pieces.every(({ length }) => length > 0 && length <= size));
    }),
  );
});

test('each chunk may be overwritten once the next is requested', async () => {
  async function* dripping() {
    const chunk = Buffer.alloc(1);
    for (const byte of Buffer.from('drip')) {
      chunk[0] = byte;
      yield chunk;
    }
  }
  const { value } = await gathered(dripping(), 100).next();
  assert.equal(String(value), 'drip');
});

async function* each<T>(values: readonly T[]): AsyncGenerator<T> {
  yield* values;
}
