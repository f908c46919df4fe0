import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { OffsetSet } from '../../../src/core/offset-set.ts';

/**
 * Offsets from which the steps choose: a few widely separated ranges of WIDTH. The naive model is a set of cells.
 * Each offset in a range is a cell. Each gap between two ranges is one cell, because no step begins or ends there.
 */
const WIDTH = 700;
const STARTS = [0, 2 ** 20 + 3, 2 ** 29, 2 ** 45 + 255];
interface Cell {
  readonly from: number;
  readonly to: number;
}
const CELLS: readonly Cell[] = STARTS.flatMap((start, n) => [
  ...Array.from({ length: WIDTH }, (_, i) => ({ from: start + i, to: start + i + 1 })),
  ...(STARTS[n + 1] === undefined ? [] : [{ from: start + WIDTH, to: STARTS[n + 1] as number }]),
]);

type Step = { do: 'add' | 'delete' | 'drop'; at: number } | { do: 'range'; at: number; to: number };
const at = fc
  .tuple(
    fc.constantFrom(...STARTS),
    fc.oneof(fc.nat(WIDTH - 1), fc.constantFrom(0, 255, 256, 257, 511, 512)),
  )
  .map(([start, i]) => start + i);
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constantFrom('add' as const, 'delete' as const, 'drop' as const), at }),
  fc.record({ do: fc.constant('range' as const), at, to: at }),
);

/** Returns the runs of cells in the model, or, if `members` is false, the runs of cells outside it. */
function stretches(model: ReadonlySet<Cell>, members: boolean): [number, number][] {
  const found: [number, number][] = [];
  for (const cell of CELLS) {
    if (model.has(cell) !== members) continue;
    const last = found.at(-1);
    if (last?.[1] === cell.from) last[1] = cell.to;
    else found.push([cell.from, cell.to]);
  }
  return found;
}

test('an offset set behaves like a set of numbers in any history, across any gaps', () => {
  const end = (CELLS.at(-1) as Cell).to;
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const set = new OffsetSet();
      const model = new Set<Cell>();
      const within = (from: number, to: number) =>
        CELLS.filter((cell) => cell.from >= from && cell.from < to);
      for (const s of steps) {
        const [cell] = within(s.at, s.at + 1) as [Cell];
        if (s.do === 'add') {
          assert.equal(set.add(s.at), !model.has(cell));
          model.add(cell);
        } else if (s.do === 'delete') assert.equal(set.delete(s.at), model.delete(cell));
        else if (s.do === 'range') {
          set.addRange(s.at, s.to);
          for (const one of within(s.at, s.to)) model.add(one);
        } else {
          set.dropBelow(s.at);
          for (const one of within(0, s.at)) model.delete(one);
        }
        const members = stretches(model, true);
        assert.deepEqual([...set.ranges()], members);
        assert.deepEqual([...set.gaps(0, end)], stretches(model, false));
        assert.equal(
          set.size,
          members.reduce((sum, [from, to]) => sum + to - from, 0),
        );
        assert.deepEqual(
          [set.min(), set.max()],
          [members[0]?.[0], members.length === 0 ? undefined : (members.at(-1)?.[1] ?? 0) - 1],
        );
        const around = members.find(([from, to]) => from <= s.at && s.at < to);
        assert.equal(set.firstMissing(s.at), around?.[1] ?? s.at);
        assert.equal(
          set.firstFrom(s.at),
          around ? s.at : members.find(([from]) => from > s.at)?.[0],
        );
        assert.equal(set.has(s.at), around !== undefined);
      }
      const before = [...set.ranges()];
      const back = OffsetSet.decode(set.encode());
      assert.deepEqual([...back.ranges()], before);
      assert.deepEqual([back.size, back.encode()], [set.size, set.encode()]);
      const copy = set.clone();
      copy.addRange(0, end);
      assert.deepEqual([...set.ranges()], before, 'a copy is independent');
      if (set.size < 10_000)
        assert.deepEqual(
          [...set],
          before.flatMap(([from, to]) => Array.from({ length: to - from }, (_, i) => from + i)),
        );
    }),
    { numRuns: 300 },
  );
});

test('a contiguous set is small at any length, and a scattered one is a bitmap', () => {
  const contiguous = new OffsetSet();
  contiguous.addRange(1_000_000, 1_200_000);
  assert.ok(contiguous.encode().length < 20);
  const scattered = OffsetSet.of(Array.from({ length: 100_000 }, (_, i) => i * 2));
  assert.ok(scattered.encode().length < (200_000 / 8) * 1.4);
});

test('a string that is not an offset set is refused, never silently misread', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 40 }), (bytes) => {
      try {
        const set = OffsetSet.decode(Buffer.from(bytes).toString('base64'));
        let size = 0;
        for (const [from, to] of set.ranges()) size += to - from;
        assert.equal(set.size, size);
        assert.ok((set.max() ?? 0) < Number.MAX_SAFE_INTEGER);
      } catch (error) {
        assert.ok(error instanceof RangeError);
      }
    }),
  );
  assert.throws(() => new OffsetSet().add(-1), RangeError);
  assert.throws(() => new OffsetSet().add(1.5), RangeError);
  assert.throws(() => OffsetSet.decode('/w=='), /unknown encoding/);
  const endless = Buffer.from([1, 0, 1, ...Array.from({ length: 9 }, () => 0xff), 1]).toString(
    'base64',
  );
  assert.throws(() => OffsetSet.decode(endless), /too large/);
});

test('a gap of any length costs neither time nor memory, both inside the set and between its members', () => {
  const set = OffsetSet.of([100]);
  set.addRange(101, 2 ** 40);
  set.add(2 ** 50);
  const startMs = performance.now();
  for (let n = 0; n < 1_000; n++) {
    assert.ok(set.encode().length < 40);
    assert.equal(set.clone().firstMissing(100), 2 ** 40);
  }
  // A bitmap would take 190 ms and 25 MB for a 5,000th of this gap.
  assert.ok(performance.now() - startMs < 5_000);
  set.delete(2 ** 39);
  assert.deepEqual(
    [...set.ranges()],
    [
      [100, 2 ** 39],
      [2 ** 39 + 1, 2 ** 40],
      [2 ** 50, 2 ** 50 + 1],
    ],
  );
  set.dropBelow(2 ** 40 - 3);
  assert.deepEqual([...set], [2 ** 40 - 3, 2 ** 40 - 2, 2 ** 40 - 1, 2 ** 50]);
});
