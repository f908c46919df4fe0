/** Cases of a balance that the audits of whole worlds do not cover. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OffsetSet } from '../../../../src/core/offset-set.ts';
import { BalanceBuilder } from '../../../../src/tools/inspect/audit-balance.ts';

const balanceOfOne = () =>
  new BalanceBuilder(
    { partition: 0, from: 0, to: 1 },
    {
      ...{ watermark: 1, claimed: new OffsetSet(), live: new OffsetSet(), start: 0 },
      ...{ isStartInherited: false, wasReset: false },
    },
  );

test('a settled record without a terminal record is missing only if no owner can have moved it in the meantime', () => {
  for (const isSuspect of [true, false]) {
    const balance = balanceOfOne();
    balance.take(
      { offset: 0, timestampMs: 0, hasValue: true },
      {
        ...{ completeSinceMs: 0, compacted: false, skipsNullValues: false },
        isSuspect: () => isSuspect,
      },
    );
    const { missing, unknown, settledTo } = balance.finish(0);
    assert.deepEqual([missing, unknown, settledTo], isSuspect ? [1, 0, 1] : [0, 1, 0]);
  }
});

test('a terminal record still counts after more resets than are stored, and a second one of the first review is double', () => {
  const balance = balanceOfOne();
  for (let replay = 1; replay <= 2_000; replay++) balance.addTerminal('decision', 0, replay);
  for (const _ of [1, 2]) balance.addTerminal('decision', 0, 0);
  const { double, replayed } = balance.finish(0);
  assert.deepEqual([double, replayed], [1, 2_000]);
});
