/** Report of a run, for people and for machines. */
import type { Kind } from '../load/pipelines.ts';
import { NEMESES, type Schedule } from './faults/schedule.ts';
import { type Losses, lossesIn } from './observe/losses.ts';
import { AGE_BOUND_MS, STALL_BOUND_MS } from './observe/observer.ts';
import { LIVEZ_BOUND_MS, type Probed } from './observe/prober.ts';
import type { Verdict } from './observe/verdict.ts';
import type { ChaosOptions } from './options.ts';
import type { PipelineRun } from './pipeline-run.ts';
import { hastyKind, type World } from './world.ts';

/** Ceiling of a replica's resident set in bytes, as docs/internals/testing.md states it. */
export const MEMORY_CEILING_BYTES = 300 * 1024 * 1024;

/** Leaks that are spelled out: one place in the code is many lines of a log. */
const MOST_LEAKS = 5;

export interface FaultReport {
  readonly name: string;
  readonly strikes: number;
  /** Strikes while work was in flight. */
  readonly hits: number;
  /** Longest time that a partition with records due got no terminal record, from the fault until all went on, ms. */
  readonly longestStallMs: number;
  readonly notes: readonly string[];
  /** Longest time in which Kafka answered and a replica was outside its group, or no record flowed, ms. */
  readonly longestRecoveryMs: number;
}

/** Figures of one pipeline. */
export interface PipelineReport {
  readonly kind: Kind;
  /** Committed records of the source. */
  readonly records: number;
  readonly abortedRecords: number;
  /** Decisions, receipts, looked-up decisions. */
  readonly outputs: number;
  readonly deadLetters: number;
  readonly lost: number;
  readonly twice: number;
  /** To be done again because the group was reset. */
  readonly again: number;
  /** Because the group was reset. */
  readonly passedOver: number;
}

export interface Report {
  readonly ok: boolean;
  readonly seed: number;
  readonly brokers: number;
  readonly minutes: number;
  readonly tookMs: number;
  /** Kind of the pipeline with shortened waits. */
  readonly hasty: Kind;
  readonly pipelines: readonly PipelineReport[];
  readonly faults: readonly FaultReport[];
  readonly longestStallMs: number;
  /** Longest time for which a record was due, under several faults at a time. */
  readonly longestDueMs: number;
  /** From a hostile write to its last terminal record. */
  readonly longestWriteMs: number;
  readonly drainMs: number;
  readonly memory: { readonly peakBytes: number; readonly ceilingBytes: number };
  /** Probes of /livez by all replicas while they ran and were not frozen. */
  readonly liveness: Probed;
  /** Shards and memberships that replicas lost; what nothing outside explains is in the violations. */
  readonly losses: Omit<Losses, 'violations'>;
  /** Terminal records in the counters of the replicas; those of killed ones died with them. */
  readonly counters: {
    readonly looks: number;
    readonly replicas: number;
    readonly killed: number;
    readonly terminals: number;
  };
  readonly violations: readonly string[];
}

export interface Findings {
  readonly world: World;
  readonly schedule: Schedule;
  readonly verdicts: readonly Verdict[];
  readonly drainMs: number;
  readonly violations: readonly string[];
  readonly options: ChaosOptions;
  readonly tookMs: number;
}

export function reportOn({
  world,
  schedule,
  verdicts,
  drainMs,
  violations,
  options,
  tookMs,
}: Findings): Report {
  const { fleet, observer, pipelines } = world;
  const complaints = verdicts.flatMap((verdict) => verdict.complaints);
  const found = [
    ...schedule.violations,
    ...violations,
    ...new Set(fleet.violations),
    ...world.leaks.slice(0, MOST_LEAKS),
    ...complaints,
  ];
  const faults = schedule.tallies.map((tally) => ({
    ...tally,
    longestStallMs: Math.round(observer.stalls.get(tally.name) ?? 0),
  }));
  const longestStallMs = Math.round(Math.max(...observer.stalls.values()));
  const longestWriteMs = Math.round(schedule.longestWriteMs);
  const longestDueMs = Math.round(observer.longestDueMs);
  if (longestDueMs > AGE_BOUND_MS) found.push(`a record was due for ${longestDueMs} ms`);
  if (longestStallMs > STALL_BOUND_MS) found.push(`a partition stalled for ${longestStallMs} ms`);
  const peakBytes = Math.max(...fleet.lives.map((life) => life.peakBytes));
  if (peakBytes > MEMORY_CEILING_BYTES)
    found.push(`a replica had ${mib(peakBytes)} resident, more than ${mib(MEMORY_CEILING_BYTES)}`);
  const isDisturbed = schedule.tallies.some(({ name }) => name in NEMESES);
  const { violations: unexplained, ...losses } = lossesIn(
    (message) => fleet.logged(message),
    isDisturbed,
  );
  found.push(...unexplained, ...fleet.prober.violations);
  const terminals = fleet.lives.reduce(
    (sum, { counters }) => sum + (counters?.decided ?? 0) + (counters?.deadLettered ?? 0),
    0,
  );
  const published = pipelines.reduce((sum, { ledger }) => sum + ledger.terminals, 0);
  if (terminals > published)
    found.push(`the replicas counted ${terminals} terminal records, and there are ${published}`);
  return {
    ok: found.length === 0,
    seed: options.seed,
    brokers: options.brokers,
    minutes: options.minutes,
    tookMs: Math.round(tookMs),
    hasty: hastyKind(options.seed),
    pipelines: pipelines.map((run, index) => pipelineReport(run, verdicts[index] as Verdict)),
    faults,
    longestStallMs,
    longestDueMs,
    longestWriteMs,
    drainMs: Math.round(drainMs),
    memory: { peakBytes, ceilingBytes: MEMORY_CEILING_BYTES },
    liveness: fleet.prober.probed,
    losses,
    counters: {
      looks: fleet.samples,
      replicas: fleet.lives.length,
      killed: fleet.lives.filter(({ ended }) => ended === 'killed').length,
      terminals,
    },
    violations: found,
  };
}

function pipelineReport(
  { kind, ledger, producer, view }: PipelineRun,
  { lost, twice, passedOver }: Verdict,
): PipelineReport {
  return {
    kind,
    records: ledger.records,
    abortedRecords: producer.aborted,
    outputs: view.outputs.length,
    deadLetters: view.deadLetters.length,
    lost,
    twice,
    again: ledger.resets.reduce((sum, { again }) => sum + again, 0),
    passedOver,
  };
}

const COLUMNS = [
  'records',
  'aborted',
  'outputs',
  'dead letters',
  'again',
  'passed over',
  'lost',
  'twice',
] as const;

function pipelineLine({
  kind,
  records,
  abortedRecords,
  outputs,
  deadLetters,
  again,
  passedOver,
  lost,
  twice,
}: PipelineReport) {
  const counts = [records, abortedRecords, outputs, deadLetters, again, passedOver, lost, twice];
  return [
    kind.padEnd(8),
    ...counts.map((count, index) => String(count).padStart(COLUMNS[index]?.length ?? 0)),
  ].join('  ');
}

export function reportText(report: Report): string {
  const { memory, counters, liveness, losses } = report;
  const width = Math.max(...report.faults.map(({ name }) => name.length));
  const lines = [
    '',
    `${'fault'.padEnd(width)}  strikes  hits  longest stall  longest recovery`,
    ...report.faults.map(faultLine(width)),
    '',
    ['pipeline', ...COLUMNS].join('  '),
    ...report.pipelines.map(pipelineLine),
    '',
    `seed      ${report.seed}, ${report.brokers} ${report.brokers === 1 ? 'broker' : 'brokers'}, ${seconds(report.tookMs)}`,
    `stalls    longest ${seconds(report.longestStallMs)} of at most ${seconds(STALL_BOUND_MS)}; all settled ${seconds(report.drainMs)} after the last fault`,
    `oldest    a record was due for at most ${seconds(report.longestDueMs)} of ${seconds(AGE_BOUND_MS)}, under several faults at a time; waits of ${report.hasty}s are short, of the others the default ones`,
    `records   at most ${seconds(report.longestWriteMs)} from a hostile write to its last terminal record, over all attempts`,
    `memory    at most ${mib(memory.peakBytes)} of ${mib(memory.ceilingBytes)} in ${counters.replicas} replicas (${counters.killed} killed)`,
    `/livez    answered ${liveness.count} times, after ${(liveness.slowestMs / 1_000).toFixed(2)} s at most of ${seconds(LIVEZ_BOUND_MS)}; ${liveness.unwell} times not with 200, ${liveness.excused} late because this machine was`,
    `losses    ${losses.shards} of a shard, ${losses.groups} of a group, none of them unexplained unless it is named below`,
    `balance   even in ${counters.looks} looks; ${counters.terminals} terminal records counted, the rest died with their counters`,
    ...report.violations.map((violation) => `VIOLATED  ${violation}`),
    report.ok ? 'kept' : 'BROKEN',
    '',
  ];
  return lines.join('\n');
}

const faultLine =
  (width: number) =>
  ({ name, strikes, hits, longestStallMs, longestRecoveryMs }: FaultReport): string =>
    [
      name.padEnd(width),
      String(strikes).padStart(7),
      String(hits).padStart(4),
      seconds(longestStallMs).padStart(13),
      seconds(longestRecoveryMs).padStart(16),
    ].join('  ');

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
const mib = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(0)} MiB`;
