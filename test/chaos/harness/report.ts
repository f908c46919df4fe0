/** Report of a run. */
import type { Kind } from '../load/pipelines.ts';
import { NEMESES, type Schedule, SESSIONS_END, type Tally } from './faults/schedule.ts';
import { type Losses, lossesIn } from './observe/losses.ts';
import { AGE_BOUND_MS, STALL_BOUND_MS } from './observe/observer.ts';
import { LIVEZ_BOUND_MS } from './observe/prober.ts';
import type { Verdict } from './observe/verdict.ts';
import type { ChaosOptions } from './options.ts';
import { hastyKind, type World } from './world.ts';

/** Limit of a replica's resident memory in bytes, as stated in docs/internals/testing.md. */
const MEMORY_CEILING_BYTES = 300 * 1024 * 1024;

/** Number of leaks to list. One place in the code can produce many log lines. */
const MOST_LEAKS = 5;

/** Figures of one pipeline. */
export interface PipelineReport {
  readonly kind: Kind;
  /** Number of committed source records. */
  readonly records: number;
  readonly lost: number;
  readonly twice: number;
}

export interface Report {
  readonly violations: readonly string[];
  readonly pipelines: readonly PipelineReport[];
  readonly faults: readonly Tally[];
  /** Readable report. */
  readonly text: string;
}

export interface Findings {
  readonly world: World;
  readonly schedule: Schedule;
  readonly verdicts: readonly Verdict[];
  readonly drainMs: number;
  readonly violations: readonly string[];
  readonly options: ChaosOptions;
  /** Further lines of figures. */
  readonly notes: readonly string[];
  readonly tookMs: number;
}

export function reportOn(findings: Findings): Report {
  const { world, schedule, verdicts } = findings;
  const { fleet } = world;
  const violations = [
    ...schedule.violations,
    ...findings.violations,
    ...new Set(fleet.violations),
    ...world.leaks.slice(0, MOST_LEAKS),
    ...verdicts.flatMap((verdict) => verdict.complaints),
    ...fleet.prober.violations,
  ];
  const isDisturbed = schedule.tallies.some(({ name }) => name in NEMESES && name !== SESSIONS_END);
  const losses = lossesIn((message) => fleet.logged(message), isDisturbed);
  violations.push(...losses.violations);
  const lines = [
    ...faultLines(findings),
    '',
    ...pipelineLines(findings),
    '',
    ...figures(findings, losses, violations),
    ...findings.notes,
    ...violations.map((violation) => `VIOLATED  ${violation}`),
    violations.length === 0 ? 'kept' : 'BROKEN',
  ];
  return {
    violations,
    pipelines: world.pipelines.map(({ kind, ledger: { records } }, index) => {
      const { lost, twice } = verdicts[index] as Verdict;
      return { kind, records, lost, twice };
    }),
    faults: schedule.tallies,
    text: `\n${lines.join('\n')}\n`,
  };
}

/** Returns the figures of the whole run. @param violations receives the exceeded limits */
function figures(
  { world, schedule, drainMs, options, tookMs }: Findings,
  losses: Losses,
  violations: string[],
): string[] {
  const { fleet, observer, pipelines } = world;
  const { lives, prober } = fleet;
  const { longestStallMs } = observer;
  const peakBytes = Math.max(...lives.map((life) => life.peakBytes));
  const killed = lives.filter(({ ended }) => ended === 'killed').length;
  const counted = lives.reduce(
    (sum, { counters }) => sum + (counters?.decided ?? 0) + (counters?.deadLettered ?? 0),
    0,
  );
  const published = pipelines.reduce((sum, { ledger }) => sum + ledger.terminals, 0);
  if (observer.longestDueMs > AGE_BOUND_MS)
    violations.push(`a record was outstanding for ${seconds(observer.longestDueMs)}`);
  if (longestStallMs > STALL_BOUND_MS)
    violations.push(`a partition stalled for ${seconds(longestStallMs)}`);
  if (peakBytes > MEMORY_CEILING_BYTES)
    violations.push(
      `a replica had ${mib(peakBytes)} resident, more than ${mib(MEMORY_CEILING_BYTES)}`,
    );
  if (counted > published)
    violations.push(`the replicas counted ${counted} terminal records, but there are ${published}`);
  const { count, slowestMs, unwell, excused } = prober.probed;
  return [
    `seed      ${options.seed}, ${options.brokers} ${options.brokers === 1 ? 'broker' : 'brokers'}, ${seconds(tookMs)}`,
    `stalls    longest ${seconds(longestStallMs)} (limit ${seconds(STALL_BOUND_MS)}); all settled ${seconds(drainMs)} after the last fault`,
    `oldest    a record was outstanding for at most ${seconds(observer.longestDueMs)} (limit ${seconds(AGE_BOUND_MS)}) under several concurrent faults; waits of ${hastyKind(options.seed)}s are short, other waits have their defaults`,
    `records   at most ${seconds(schedule.longestWriteMs)} from a hostile write to its last terminal record, over all attempts`,
    `memory    at most ${mib(peakBytes)} (limit ${mib(MEMORY_CEILING_BYTES)}) in ${lives.length} replicas (${killed} killed)`,
    `/livez    ${count} responses within ${(slowestMs / 1_000).toFixed(2)} s (limit ${seconds(LIVEZ_BOUND_MS)}); ${unwell} other than 200, ${excused} more late because of this machine`,
    `losses    ${losses.shards} of a shard, ${losses.groups} of a group; unexplained ones are listed below`,
    `balance   0 in ${fleet.samples} samples; ${counted} terminal records counted (killed replicas lost their counters)`,
  ];
}

function faultLines({ schedule }: Findings): string[] {
  const width = Math.max(...schedule.tallies.map(({ name }) => name.length));
  return [
    `${'fault'.padEnd(width)}  strikes  hits  longest recovery  longest wait`,
    ...schedule.tallies.map(({ name, strikes, hits, longestRecoveryMs, longestDueMs }) =>
      [
        name.padEnd(width),
        String(strikes).padStart(7),
        String(hits).padStart(4),
        seconds(longestRecoveryMs).padStart(16),
        seconds(longestDueMs).padStart(12),
      ].join('  '),
    ),
  ];
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
];

function pipelineLines({ world, verdicts }: Findings): string[] {
  const lines = world.pipelines.map(({ kind, ledger, producer, view }, index) => {
    const { lost, twice, passedOver } = verdicts[index] as Verdict;
    const again = ledger.resets.reduce((sum, reset) => sum + reset.again, 0);
    const written = [ledger.records, producer.aborted];
    const read = [view.outputs.length, view.deadLetters.length];
    return [
      kind.padEnd(8),
      ...[...written, ...read, again, passedOver, lost, twice].map((count, column) =>
        String(count).padStart(COLUMNS[column]?.length ?? 0),
      ),
    ].join('  ');
  });
  return [['pipeline', ...COLUMNS].join('  '), ...lines];
}

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
const mib = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(0)} MiB`;
