/** Ends a process before each of its steps in turn. No record may be lost or settled twice, and nothing may be left behind. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type HistoryReport, play } from '../support/engine/simulation/history.ts';
import type { PlacedStrike, Script, Shape } from '../support/engine/simulation/script.ts';

const SHAPE: Shape = {
  instances: 1,
  partitions: 2,
  shards: 1,
  batchRows: 4,
  batchAgeMs: 500,
  chunkRows: 2,
  attempts: 3,
  maxInFlight: 200_000,
  budgetBytes: 1_000_000,
  sessionTimeoutMs: 6_000,
  latencyMs: 5,
  rejectedToDeadLetters: false,
};
/** Makes the first batch fail, so that its records are reread for another batch. */
const FAILED: PlacedStrike = {
  place: 'review',
  nth: 0,
  strike: { kind: 'review', how: 'failed', afterMs: 100 },
};
const FEWEST_STEPS = 80;
/**
 * Maximum number of batches that stay empty. A stop may interrupt the creation of one batch for each of two
 * partitions.
 */
const MOST_EMPTY = { kill: 1, stop: 2 };

interface Walk {
  readonly end: 'kill' | 'stop';
  readonly strikes: readonly PlacedStrike[];
}

const scriptOf = ({ end, strikes }: Walk, steps: number): Script => ({
  seed: 1,
  shape: SHAPE,
  events: [
    { atMs: 0, do: 'produce', count: 9, types: 1, poisonEvery: 5 },
    { atMs: 0, do: end, which: 0, steps },
  ],
  strikes,
  untilMs: 8_000,
});

interface Walked {
  readonly report: HistoryReport;
  /** False if everything was settled before the step. */
  readonly endedAtWork: boolean;
}

async function playEnding(walk: Walk, steps: number): Promise<Walked> {
  const lines: string[] = [];
  const report = await play(scriptOf(walk, steps), { trace: (line) => lines.push(line) });
  assert.equal(report.violation?.message, undefined, `ended before step ${steps}`);
  const ended = lines.findIndex((line) => / i1(?:: kill| is stopping)$/.test(line));
  const settled = lines.findLastIndex((line) => / commits .*(?:decisions|dead):/.test(line));
  return { report, endedAtWork: ended >= 0 && ended < settled };
}

const WALKS: readonly Walk[] = [
  { end: 'kill', strikes: [] },
  { end: 'kill', strikes: [FAILED] },
  { end: 'stop', strikes: [] },
];

for (const walk of WALKS) {
  const of = walk.strikes.length === 0 ? 'a batch' : 'a batch that fails once';
  test(`${of}, ${walk.end} before any step: each record is settled once, no row is submitted again, and every resource is released`, async () => {
    const { submitted, coverage } = (await playEnding(walk, Number.POSITIVE_INFINITY)).report;
    assert.equal(coverage['jobs_failed_total batch_failed'] ?? 0, walk.strikes.length);
    let steps = 0;
    for (; ; steps++) {
      const { report, endedAtWork } = await playEnding(walk, steps);
      const { batches, rows } = report.submitted;
      assert.equal(rows, submitted.rows, `rows submitted, ended before step ${steps}`);
      const empty = batches - submitted.batches;
      assert.ok(empty <= MOST_EMPTY[walk.end], `${empty} batches, ended before step ${steps}`);
      if (!endedAtWork) break;
    }
    assert.ok(steps >= FEWEST_STEPS, `only ${steps} steps until everything was settled`);
  });
}
