import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PartitionProgress } from '../../../../src/core/journal/journal-records.ts';
import { OffsetSet } from '../../../../src/core/offset-set.ts';
import { ProgressHistory } from '../../../../src/tools/inspect/shard-journal.ts';

const LAST = { offset: 1, timestampMs: 1 };

function progress(
  watermark: number,
  more: { claimed?: number[]; replay?: number; last?: null } = {},
): PartitionProgress {
  const { claimed = [], replay = 0, last = LAST } = more;
  const assigned = OffsetSet.of(claimed);
  return { seq: 1, watermark, claimed: assigned, replay, read: watermark, last, start: 0 };
}

function historyOf(...all: PartitionProgress[]): ProgressHistory {
  const history = new ProgressHistory();
  for (const one of all) history.fold(one);
  return history;
}

test('a reset to a later offset passes over records that were neither settled nor in a job', () => {
  const history = historyOf(
    progress(5, { claimed: [6, 8] }),
    progress(10, { replay: 1, last: null }),
  );
  assert.deepEqual([...history.passedOver], [5, 7, 9]);
  assert.equal(history.hasForgottenResets, false);
});

test('a reset to an earlier offset passes over nothing', () => {
  const history = historyOf(progress(9), progress(4, { replay: 1, last: null }));
  assert.deepEqual([...history.passedOver], []);
  assert.equal(history.hasForgottenResets, false);
});

test('a reset without its own record, or without the one before it, is forgotten', () => {
  assert.equal(historyOf(progress(9, { replay: 1 })).hasForgottenResets, true);
  assert.equal(historyOf(progress(4, { replay: 1, last: null })).hasForgottenResets, true);
  assert.equal(historyOf(progress(4), progress(9, { replay: 1 })).hasForgottenResets, true);
  assert.equal(
    historyOf(progress(4), progress(9, { replay: 2, last: null })).hasForgottenResets,
    true,
  );
  assert.equal(historyOf(progress(4), progress(9)).hasForgottenResets, false);
});
