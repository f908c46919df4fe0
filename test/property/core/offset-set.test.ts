import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { OffsetSet } from '../../../src/core/offset-set.ts';

const offset = fc.oneof(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 2 ** 40, max: 2 ** 40 + 5000 }));
type Step = { do: 'add' | 'delete' | 'drop'; at: number } | { do: 'range'; at: number; to: number };
const near = fc.integer({ min: 0, max: 600 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constantFrom('add' as const, 'delete' as const, 'drop' as const), at: near }),
  fc.record({ do: fc.constant('range' as const), at: near, to: near }),
);

test('an offset set behaves as a set of numbers under any history', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.constantFrom(0, 3, 2 ** 45), (steps, shift) => {
      const set = new OffsetSet();
      const model = new Set<number>();
      for (const s of steps) {
        const at = s.at + shift;
        if (s.do === 'add') {
          assert.equal(set.add(at), !model.has(at));
          model.add(at);
        } else if (s.do === 'delete') assert.equal(set.delete(at), model.delete(at));
        else if (s.do === 'range') {
          set.addRange(at, s.to + shift);
          for (let o = at; o < s.to + shift; o++) model.add(o);
        } else {
          set.dropBelow(at);
          for (const o of [...model]) if (o < at) model.delete(o);
        }
        const sorted = [...model].sort((a, b) => a - b);
        assert.deepEqual([...set], sorted);
        assert.equal(set.size, model.size);
        assert.equal(set.min(), sorted[0]);
        assert.equal(set.max(), sorted.at(-1));
        let missing = at;
        while (model.has(missing)) missing++;
        assert.equal(set.firstMissing(at), missing);
        assert.equal(set.has(at - 1), model.has(at - 1));
      }
      assert.deepEqual([...OffsetSet.decode(set.encode())], [...set]);
      assert.deepEqual([...set.clone()], [...set]);
    }),
    { numRuns: 300 },
  );
});

test('any set of offsets survives its encoding', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.integer({ min: 0, max: 4000 }), { maxLength: 300 }),
      fc.integer({ min: 0, max: 2 ** 50 }),
      (offsets, shift) => {
        const shifted = offsets.map((o) => o + shift);
        const set = OffsetSet.of(shifted);
        const back = OffsetSet.decode(set.encode());
        assert.deepEqual(
          [...back],
          [...shifted].sort((a, b) => a - b),
        );
        assert.equal(back.size, offsets.length);
      },
    ),
  );
});

test('a contiguous set is small however long, and a scattered one is a bitmap', () => {
  const contiguous = new OffsetSet();
  contiguous.addRange(1_000_000, 1_200_000);
  assert.ok(contiguous.encode().length < 20);
  const scattered = OffsetSet.of(Array.from({ length: 100_000 }, (_, i) => i * 2));
  assert.ok(scattered.encode().length < (200_000 / 8) * 1.4);
});

test('text that is no offset set is refused, never misread silently', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 40 }), (bytes) => {
      // Windows of broken text may be wide but are bounded; shrink them so that the test stays quick.
      if (bytes[0] === 1) for (let i = 1; i < bytes.length; i++) bytes[i] = (bytes[i] as number) & 0x7f;
      try {
        const set = OffsetSet.decode(Buffer.from(bytes).toString('base64'));
        assert.equal([...set].length, set.size);
      } catch (error) {
        assert.ok(error instanceof RangeError);
      }
    }),
  );
  assert.throws(() => new OffsetSet().add(-1), RangeError);
  assert.throws(() => new OffsetSet().add(1.5), RangeError);
  assert.throws(() => OffsetSet.decode('/w=='), /unknown encoding/);
  // Two offsets, 2^31 apart: the bits between them would take 268 MB.
  const apart = Buffer.from([1, 0, 1, 0x80, 0x80, 0x80, 0x80, 0x08, 1]).toString('base64');
  assert.throws(() => OffsetSet.decode(apart), /wider than any window/);
});

test('offsets far apart are kept apart', () => {
  fc.assert(
    fc.property(fc.array(offset, { maxLength: 5 }), (offsets) => {
      const low = offsets.filter((o) => o < 1000);
      assert.deepEqual(
        [...OffsetSet.of(low)],
        [...new Set(low)].sort((a, b) => a - b),
      );
    }),
  );
});

test('a set that could not be read again is refused before it changes, and one that just can be is read', () => {
  const WINDOW = 2 ** 28;
  const set = OffsetSet.of([16]);
  set.addRange(16 + WINDOW - 10, 16 + WINDOW);
  const before = set.encode();
  assert.equal(OffsetSet.decode(before).encode(), before);
  for (const wider of [
    () => set.add(16 + WINDOW),
    () => set.add(15),
    () => set.addRange(20, 17 + WINDOW),
    () => set.addRange(0, 2 ** 50),
    () => new OffsetSet().addRange(5, 5 + WINDOW + 1),
  ]) {
    assert.throws(wider, (error) => error instanceof RangeError && error.message.includes('wider than any window'));
    assert.deepEqual([set.size, set.encode()], [11, before]);
  }
  const emptied = OffsetSet.of([7]);
  emptied.delete(7);
  assert.equal(emptied.add(2 ** 40), true);
  assert.deepEqual([...emptied], [2 ** 40]);
});
