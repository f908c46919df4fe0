/** What a run found, for people and for machines. */
import type { ChaosOptions } from './chaos.ts';
import { type Schedule, STALL_BOUND_MS } from './schedule.ts';
import type { Verdict } from './verdict.ts';
import type { World } from './world.ts';

/** Of a replica's resident set, bytes: stated in docs/chaos.md. */
export const MEMORY_CEILING_BYTES = 300 * 1024 * 1024;

export interface FaultReport {
  readonly kind: string;
  readonly strikes: number;
  /** Strikes while work was in flight. */
  readonly hits: number;
  /** Longest time that a partition with records due got no terminal record, from the fault until all went on, ms. */
  readonly longestStallMs: number;
  readonly notes: readonly string[];
}

export interface Report {
  readonly ok: boolean;
  readonly seed: number;
  readonly brokers: number;
  readonly minutes: number;
  readonly tookMs: number;
  /** Committed records of the source. */
  readonly records: number;
  readonly abortedRecords: number;
  readonly decisions: number;
  readonly deadLetters: number;
  readonly lost: number;
  readonly twice: number;
  /** Reviewed again, or passed over, because the group was reset. */
  readonly resets: { readonly count: number; readonly again: number; readonly passedOver: number };
  readonly faults: readonly FaultReport[];
  readonly longestStallMs: number;
  readonly drainMs: number;
  readonly memory: { readonly peakBytes: number; readonly ceilingBytes: number };
  /** Terminal records in the counters of the replicas; those of killed ones died with them. */
  readonly counters: { readonly looks: number; readonly replicas: number; readonly killed: number; readonly terminals: number };
  readonly violations: readonly string[];
}

export interface Findings {
  readonly world: World;
  readonly schedule: Schedule;
  readonly verdict: Verdict;
  readonly drainMs: number;
  readonly violations: readonly string[];
  readonly options: ChaosOptions;
  readonly tookMs: number;
}

export function reportOn({ world, schedule, verdict, drainMs, violations, options, tookMs }: Findings): Report {
  const { fleet, ledger, observer, producer } = world;
  const found = [...schedule.violations, ...violations, ...new Set(fleet.violations), ...verdict.complaints];
  const faults = schedule.tallies.map((tally) => ({
    ...tally,
    longestStallMs: Math.round(observer.stalls.get(tally.kind) ?? 0),
  }));
  const longestStallMs = Math.round(Math.max(...observer.stalls.values()));
  if (longestStallMs > STALL_BOUND_MS) found.push(`a partition stalled for ${longestStallMs} ms`);
  const peakBytes = Math.max(...fleet.lives.map((life) => life.peakBytes));
  if (peakBytes > MEMORY_CEILING_BYTES)
    found.push(`a replica had ${mib(peakBytes)} resident, more than ${mib(MEMORY_CEILING_BYTES)}`);
  const terminals = fleet.lives.reduce((sum, { counters }) => sum + (counters?.decided ?? 0) + (counters?.deadLettered ?? 0), 0);
  if (terminals > ledger.terminals)
    found.push(`the replicas counted ${terminals} terminal records, and there are ${ledger.terminals}`);
  return {
    ok: found.length === 0,
    seed: options.seed,
    brokers: options.brokers,
    minutes: options.minutes,
    tookMs: Math.round(tookMs),
    records: ledger.records,
    abortedRecords: producer.aborted,
    decisions: observer.decisions.length,
    deadLetters: observer.deadLetters.length,
    lost: verdict.lost,
    twice: verdict.twice,
    resets: {
      count: ledger.resets.length,
      again: ledger.resets.reduce((sum, { again }) => sum + again, 0),
      passedOver: verdict.passedOver,
    },
    faults,
    longestStallMs,
    drainMs: Math.round(drainMs),
    memory: { peakBytes, ceilingBytes: MEMORY_CEILING_BYTES },
    counters: {
      looks: fleet.samples,
      replicas: fleet.lives.length,
      killed: fleet.lives.filter(({ ended }) => ended === 'killed').length,
      terminals,
    },
    violations: found,
  };
}

export function reportText(report: Report): string {
  const { resets, memory, counters } = report;
  const width = Math.max(...report.faults.map(({ kind }) => kind.length));
  const lines = [
    '',
    `${'fault'.padEnd(width)}  strikes  hits  longest stall`,
    ...report.faults.map(
      ({ kind, strikes, hits, longestStallMs }) =>
        `${kind.padEnd(width)}  ${String(strikes).padStart(7)}  ${String(hits).padStart(4)}  ${seconds(longestStallMs).padStart(13)}`,
    ),
    '',
    `seed      ${report.seed}, ${report.brokers} ${report.brokers === 1 ? 'broker' : 'brokers'}, ${seconds(report.tookMs)}`,
    `records   ${report.records} committed, ${report.abortedRecords} aborted: ${report.decisions} decisions, ${report.deadLetters} dead letters`,
    `resets    ${resets.count}: ${resets.again} records again, ${resets.passedOver} passed over`,
    `promise   ${report.lost} lost, ${report.twice} twice`,
    `stalls    longest ${seconds(report.longestStallMs)} of at most ${seconds(STALL_BOUND_MS)}; all settled ${seconds(report.drainMs)} after the last fault`,
    `memory    at most ${mib(memory.peakBytes)} of ${mib(memory.ceilingBytes)} in ${counters.replicas} replicas (${counters.killed} killed)`,
    `balance   even in ${counters.looks} looks; ${counters.terminals} terminal records counted, the rest died with their counters`,
    ...report.violations.map((violation) => `VIOLATED  ${violation}`),
    report.ok ? 'kept' : 'BROKEN',
    '',
  ];
  return lines.join('\n');
}

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
const mib = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(0)} MiB`;
