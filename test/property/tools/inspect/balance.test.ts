/** Compares the accounts of a balance with a reference made of plain sets and ordered rules. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { OffsetSet } from '../../../../src/core/offset-set.ts';
import { BalanceBuilder, type OffsetRun } from '../../../../src/tools/inspect/audit-balance.ts';

const SPAN = 40;
const offset = fc.integer({ min: 0, max: SPAN - 1 });
const offsets = fc.uniqueArray(offset).map((list) => new Set(list));

const scene = fc.record({
  range: fc
    .tuple(offset, fc.integer({ min: 0, max: SPAN }))
    .map(([from, length]) => ({ from, to: Math.min(SPAN, from + length) })),
  records: fc.uniqueArray(offset).map((list) => list.sort((a, b) => a - b)),
  skipped: offsets,
  terminals: fc.array(
    fc.record({ offset, dead: fc.boolean(), replay: fc.constantFrom(0, 0, 0, 1, 2) }),
    { maxLength: 60 },
  ),
  watermark: fc.integer({ min: 0, max: SPAN }),
  claimed: offsets,
  live: offsets,
  start: fc.integer({ min: 0, max: SPAN }),
  completeSince: fc.integer({ min: -1, max: SPAN }),
  flags: fc.record({
    resets: fc.boolean(),
    compacted: fc.boolean(),
    inherited: fc.boolean(),
  }),
  suspects: offsets,
});
type Scene = typeof scene extends fc.Arbitrary<infer T> ? T : never;

/** Returns the account of a record, by plain rules in their order. */
function accountOf(at: number, given: Scene, settled: Map<number, boolean>): string {
  if (settled.has(at)) return settled.get(at) === true ? 'decided' : 'deadLettered';
  const rules: [string, boolean][] = [
    ['live', given.live.has(at)],
    ['waiting', at >= given.watermark && !given.claimed.has(at)],
    ['beforeStart', at < given.start && !given.flags.inherited],
    ['skipped', given.skipped.has(at)],
    ['unknown', given.flags.resets || given.flags.compacted || at < given.completeSince],
    ['unknown', at < given.start],
    ['moving', !given.suspects.has(at)],
    ['missing', true],
  ];
  return rules.find(([, holds]) => holds)?.[0] as string;
}

const spread = (runs: readonly OffsetRun[]) =>
  runs.flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, n) => first + n));

test('every record is in exactly one account, and the lists match the counts', () => {
  fc.assert(
    fc.property(scene, (given) => {
      const { range, flags } = given;
      const builder = new BalanceBuilder(
        { partition: 0, ...range },
        {
          watermark: given.watermark,
          claimed: OffsetSet.of(given.claimed),
          live: OffsetSet.of(given.live),
          start: given.start,
          isStartInherited: flags.inherited,
          wasReset: flags.resets,
        },
      );
      for (const { offset: at, dead, replay } of given.terminals)
        builder.addTerminal(dead ? 'dead_letter' : 'decision', at, replay);
      const evidence = {
        completeSinceMs: given.completeSince,
        compacted: flags.compacted,
        isSuspect: (at: number) => given.suspects.has(at),
      };
      const records = given.records.filter((at) => at >= range.from && at < range.to);
      for (const at of records)
        builder.take(
          { offset: at, timestampMs: at, isSkipped: () => given.skipped.has(at) },
          evidence,
        );
      const balance = builder.finish(0);

      const inRange = given.terminals.filter(({ offset: at }) => at >= range.from && at < range.to);
      const events = new Set<string>();
      const settled = new Map<number, boolean>();
      const double: number[] = [];
      let replayed = 0;
      for (const { offset: at, dead, replay } of inRange) {
        const event = `${at}#${replay}`;
        if (events.has(event)) {
          double.push(at);
          continue;
        }
        events.add(event);
        if (replay > 0) replayed++;
        settled.set(at, settled.get(at) === true || !dead);
      }
      const accounts = Map.groupBy(records, (at) => accountOf(at, given, settled));
      const count = (account: string) => accounts.get(account)?.length ?? 0;
      const {
        missingOffsets,
        doubleOffsets,
        withoutSourceOffsets,
        settledTo,
        partition: _,
        from: __,
        to: ___,
        ...counts
      } = balance;
      const without = [...settled.keys()]
        .filter((at) => !records.includes(at))
        .sort((a, b) => a - b);
      assert.deepEqual(counts, {
        records: records.length,
        decided: count('decided'),
        deadLettered: count('deadLettered'),
        skipped: count('skipped'),
        beforeStart: count('beforeStart'),
        waiting: count('waiting'),
        live: count('live'),
        missing: count('missing'),
        unknown: count('unknown') + count('moving'),
        double: double.length,
        withoutSource: without.length,
        replayed,
      });
      const open = ['live', 'waiting', 'moving'].flatMap((account) => accounts.get(account) ?? []);
      assert.equal(settledTo, Math.min(range.to, ...open));
      assert.deepEqual(spread(missingOffsets), accounts.get('missing') ?? []);
      assert.deepEqual(
        spread(doubleOffsets),
        [...new Set(double)].sort((a, b) => a - b),
      );
      assert.deepEqual(spread(withoutSourceOffsets), without);
    }),
    { numRuns: 1_000 },
  );
});

test('a terminal record still counts after more resets than are stored, and a second terminal record of the first review is double', () => {
  const journal = { watermark: 1, claimed: new OffsetSet(), live: new OffsetSet(), start: 0 };
  const more = { isStartInherited: false, wasReset: false };
  const builder = new BalanceBuilder({ partition: 0, from: 0, to: 1 }, { ...journal, ...more });
  for (let replay = 1; replay <= 2_000; replay++) builder.addTerminal('decision', 0, replay);
  for (const _ of [1, 2]) builder.addTerminal('decision', 0, 0);
  const { double, replayed } = builder.finish(0);
  assert.deepEqual([double, replayed], [1, 2_000]);
});
