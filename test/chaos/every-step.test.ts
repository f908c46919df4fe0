/** The promise at every step: a process killed before each of its steps in turn leaves nothing undone and nothing twice. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type HistoryReport, play } from '../support/engine/simulation/history.ts';
import { SIMULATED_KINDS, type SimulatedKind } from '../support/engine/simulation/kinds.ts';
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
/** The first batch fails, so that its records are read again and move to another. */
const FAILED: PlacedStrike = {
  place: 'review',
  nth: 0,
  strike: { kind: 'review', how: 'failed', afterMs: 100 },
};
const FEWEST_STEPS = 80;

const scriptOf = (
  kind: SimulatedKind,
  strikes: readonly PlacedStrike[],
  steps: number,
): Script => ({
  seed: 1,
  shape: { ...SHAPE, kind },
  events: [
    { atMs: 0, do: 'produce', count: 9, types: 1, poisonEvery: 5 },
    { atMs: 0, do: 'kill', which: 0, steps },
  ],
  strikes,
  untilMs: 8_000,
});

interface Walked {
  readonly report: HistoryReport;
  /** False when everything was settled before the step. */
  readonly killedAtWork: boolean;
}

async function walk(...of: Parameters<typeof scriptOf>): Promise<Walked> {
  const lines: string[] = [];
  const report = await play(scriptOf(...of), { trace: (line) => lines.push(line) });
  const killed = lines.findIndex((line) => line.endsWith(' i1: kill'));
  const settled = lines.findLastIndex((line) => / commits .*(?:decisions|dead):/.test(line));
  return { report, killedAtWork: killed >= 0 && killed < settled };
}

for (const kind of SIMULATED_KINDS)
  for (const strikes of kind === 'review' ? [[], [FAILED]] : [[]]) {
    const of = strikes.length === 0 ? kind : `${kind} that fails once`;
    test(`${of}: killed before any step, each record is settled once, and no row is submitted again`, async () => {
      const undisturbed = await walk(kind, strikes, Number.POSITIVE_INFINITY);
      const { submitted, coverage } = undisturbed.report;
      assert.equal(coverage['jobs_failed_total batch_failed'] ?? 0, strikes.length);
      const { batches, rows } = submitted;
      let steps = 0;
      for (; ; steps++) {
        const { report, killedAtWork } = await walk(kind, strikes, steps);
        assert.equal(report.violation?.message, undefined, `killed before step ${steps}`);
        assert.equal(report.submitted.rows, rows, `rows submitted, killed before step ${steps}`);
        assert.ok(report.submitted.batches <= batches + 1, `batches, killed before step ${steps}`);
        if (!killedAtWork) break;
      }
      assert.ok(steps >= FEWEST_STEPS, `only ${steps} steps until everything was settled`);
    });
  }
