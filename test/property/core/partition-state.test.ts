import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { PartitionProgress } from '../../../src/core/journal/journal-records.ts';
import { PartitionState, resetProgress } from '../../../src/core/journal/partition-state.ts';
import { OffsetSet } from '../../../src/core/offset-set.ts';

const START = 50;
const timestampOf = (offset: number): number => 5_000 + offset * 3;

type Action =
  | { readonly do: 'take' | 'skip' | 'snapshot' | 'crash' }
  | { readonly do: 'gap'; readonly length: number }
  | { readonly do: 'claim'; readonly pick: number };

const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Action>({ do: 'take' }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('claim' as const), pick: fc.nat() }) },
  {
    weight: 2,
    arbitrary: fc.constantFrom<Action>({ do: 'skip' }, { do: 'snapshot' }, { do: 'crash' }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('gap' as const),
      length: fc.constantFrom(1, 3, 8, 40, 3_000),
    }),
  },
);
const histories = fc.array(action, { maxLength: 80, size: 'max' });

/** Intake as it should be, with a word for every offset instead of a watermark. */
class Model {
  /** Offsets claimed, and gaps passed (as ranges: they may be long). */
  claimed = new Set<number>();
  gaps: [from: number, to: number][] = [];
  waiting = new Set<number>();
  position = START;
  newest: number | null = null;

  isGone(offset: number): boolean {
    return (
      offset < START ||
      this.claimed.has(offset) ||
      this.gaps.some(([from, to]) => offset >= from && offset < to)
    );
  }

  get watermark(): number {
    let offset = START;
    for (;;) {
      const gap = this.gaps.find(([from, to]) => offset >= from && offset < to);
      if (gap !== undefined) offset = gap[1];
      else if (this.claimed.has(offset)) offset++;
      else return offset;
    }
  }

  /** Offsets in gaps above W; a gap may have been passed more than once. */
  gapsAbove(watermark: number): number {
    let sum = 0;
    let counted = watermark;
    for (const [from, to] of this.gaps.toSorted(([a], [b]) => a - b)) {
      if (to <= counted) continue;
      sum += to - Math.max(from, counted);
      counted = to;
    }
    return sum;
  }

  copy(): Model {
    const copy = new Model();
    Object.assign(copy, {
      claimed: new Set(this.claimed),
      gaps: [...this.gaps],
      waiting: new Set(this.waiting),
    });
    copy.position = this.position;
    copy.newest = this.newest;
    return copy;
  }
}

test('W is the first offset neither claimed nor a gap, and what lies above it is known exactly, after any history', () => {
  fc.assert(
    fc.property(histories, (steps) => {
      let state = PartitionState.startAt(3, START);
      let model = new Model();
      let saved: PartitionProgress = state.snapshot(1);
      let durable = model.copy();
      for (const step of steps) {
        switch (step.do) {
          case 'take':
          case 'skip': {
            const offset = state.position++;
            assert.equal(offset, model.position++);
            assert.equal(state.isAssigned(offset), model.isGone(offset));
            if (model.isGone(offset)) break;
            if (step.do === 'take') model.waiting.add(offset);
            else claim(offset);
            break;
          }
          case 'gap': {
            // No record was ever seen where a gap is.
            const end = model.position + step.length;
            if ([...model.claimed].some((offset) => offset >= model.position && offset < end))
              break;
            state.passGap(state.position, state.position + step.length);
            state.position += step.length;
            model.gaps.push([model.position, model.position + step.length]);
            model.position += step.length;
            break;
          }
          case 'claim': {
            const waiting = [...model.waiting];
            const offset = waiting[step.pick % Math.max(1, waiting.length)];
            if (offset === undefined) break;
            model.waiting.delete(offset);
            claim(offset);
            break;
          }
          case 'snapshot':
            saved = state.snapshot(saved.seq + 1);
            durable = model.copy();
            assert.equal(state.dirty, false);
            agrees(saved);
            break;
          case 'crash':
            state = PartitionState.resume(3, { ...saved, claimed: saved.claimed.clone() });
            model = durable.copy();
            model.waiting.clear();
            model.position = model.watermark;
            assert.equal(state.position, model.watermark);
            assert.equal(state.seenBefore, saved.read);
            assert.equal(state.dirty, false);
            break;
        }
        // Between two snapshots W may lag, but never passes a record that is not assigned.
        assert.ok(state.watermark <= model.watermark);
        assert.equal(state.width, state.position - state.watermark);
        assert.equal(state.readOn, state.position > Math.max(saved.read, saved.watermark));
        const [from, to] = [START - 5, START + 60];
        let unclaimed = 0;
        for (let offset = from; offset < to; offset++) if (!state.isAssigned(offset)) unclaimed++;
        assert.equal(state.unassignedIn(from, to), unclaimed);
        assert.equal(state.unassignedIn(to, from), 0);
        for (const offset of model.waiting) assert.equal(state.isAssigned(offset), false);
        for (const offset of model.claimed) assert.equal(state.isAssigned(offset), true);
      }
      agrees(state.snapshot(saved.seq + 1));

      function claim(offset: number): void {
        state.assign(offset, timestampOf(offset));
        model.claimed.add(offset);
        model.newest = Math.max(model.newest ?? 0, offset);
        assert.equal(state.dirty, true);
      }

      function agrees(progress: PartitionProgress): void {
        assert.equal(progress.start, START);
        assert.equal(progress.watermark, model.watermark);
        assert.equal(state.watermark, model.watermark);
        for (const offset of model.claimed)
          assert.equal(progress.claimed.has(offset), offset > model.watermark);
        for (const offset of model.waiting) assert.equal(progress.claimed.has(offset), false);
        const above = [...model.claimed].filter((offset) => offset > model.watermark).length;
        assert.equal(progress.claimed.size, above + model.gapsAbove(model.watermark));
        assert.equal(progress.read, Math.max(model.position, model.watermark));
        assert.deepEqual(
          progress.last,
          model.newest === null
            ? null
            : { offset: model.newest, timestampMs: timestampOf(model.newest) },
        );
      }
    }),
    { numRuns: 300 },
  );
});

test('a gap of a hundred million offsets in front of W costs nothing', () => {
  const state = PartitionState.startAt(0, 7);
  state.passGap(7, 100_000_000);
  state.position = 100_000_000;
  assert.deepEqual([state.watermark, state.width], [100_000_000, 0]);
  assert.equal(state.snapshot(1).claimed.size, 0);
});

test('the last claimed record is looked at again when it is near: another timestamp there means another topic', () => {
  const resumed = () =>
    PartitionState.resume(0, {
      seq: 1,
      ...progress(20, []),
      last: { offset: 15, timestampMs: timestampOf(15) },
    });
  const state = resumed();
  state.seekToLastAssigned(0);
  assert.equal(state.position, 15);
  assert.equal(state.matches(14, 1), true, 'nothing is known of other records');
  assert.equal(state.matches(15, timestampOf(15) + 1), false);
  assert.equal(state.matches(15, timestampOf(15)), true);
  assert.equal(state.matches(15, 1), true, 'it was recognised: no need to look again');

  const trimmed = resumed();
  trimmed.seekToLastAssigned(16);
  assert.equal(trimmed.position, 20, 'retention took it: nothing to look at');
  const at = resumed();
  at.seekToLastAssigned(15);
  assert.equal(at.position, 15, 'the first record in the log can be looked at');

  const far = PartitionState.resume(0, {
    seq: 1,
    ...progress(20_000, []),
    last: { offset: 9_999, timestampMs: 1 },
  });
  far.seekToLastAssigned(0);
  assert.equal(far.position, 20_000, 'too far to read again');
  const near = PartitionState.resume(0, {
    seq: 1,
    ...progress(20_000, []),
    last: { offset: 10_000, timestampMs: 1 },
  });
  near.seekToLastAssigned(0);
  assert.equal(near.position, 10_000);

  const above = PartitionState.resume(0, {
    seq: 1,
    ...progress(20, [25]),
    last: { offset: 25, timestampMs: timestampOf(25) },
  });
  above.seekToLastAssigned(0);
  assert.equal(above.position, 20, 'intake comes past it anyway');
  assert.equal(above.matches(25, 0), false);
});

test('a reset follows the rule of the protocol’s model: claimed := (claimed and not back) or skipped', () => {
  const offsets = fc.uniqueArray(fc.integer({ min: 0, max: 60 }), { maxLength: 40, size: 'max' });
  fc.assert(
    fc.property(
      fc.nat({ max: 50 }),
      offsets,
      offsets,
      fc.nat({ max: 70 }),
      fc.nat({ max: 3 }),
      (watermark, some, others, offset, replay) => {
        const claimedAbove = some.filter((one) => one > watermark);
        const isAssigned = (one: number) => one < watermark || claimedAbove.includes(one);
        const live = OffsetSet.of(others.filter(isAssigned));
        const before = {
          seq: 4,
          ...progress(watermark, claimedAbove),
          start: watermark,
          replay,
          last: { offset: 0, timestampMs: 0 },
        };
        const result = resetProgress(before, offset, live);

        const after = PartitionState.begin(0, result.progress);
        let skipped = 0;
        for (let one = 0; one < 100; one++) {
          const back = one >= offset && !live.has(one);
          const skip = one < offset && !isAssigned(one);
          if (skip) skipped++;
          assert.equal(after.isAssigned(one), (isAssigned(one) && !back) || skip, `offset ${one}`);
        }
        assert.equal(result.skipped, skipped);
        assert.equal(result.progress.replay, replay + 1);
        assert.equal(result.progress.last, null);
        for (let one = 0; one < 100; one++) {
          const answersFor = one >= watermark || one >= offset;
          assert.equal(one >= result.progress.start, answersFor, `offset ${one}`);
        }
        assert.ok(after.position >= offset && !after.isAssigned(after.position));
        assert.deepEqual(
          [...before.claimed],
          [...OffsetSet.of(claimedAbove)],
          'the journal’s own record is left as it was',
        );
      },
    ),
    { numRuns: 500 },
  );
});

function progress(watermark: number, claimed: readonly number[]): Omit<PartitionProgress, 'seq'> {
  const assigned = OffsetSet.of(claimed);
  return { watermark, claimed: assigned, replay: 0, read: watermark, last: null, start: 0 };
}
