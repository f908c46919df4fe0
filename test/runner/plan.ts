/**
 * Concurrency plan of test files. Most files wait most of the time: for brokers, sessions, timers,
 * processes. Those that only compute have no clock but their own, and fill what the others leave of
 * the processors, at a lower priority.
 */
import { SUITES, type Suite, suiteOf } from './suites.ts';

/** `compute`: at a lower priority, and not counted among the others. `alone`: it measures. */
export type Lane = 'usual' | 'compute' | 'alone';

export interface Plan {
  readonly file: string;
  readonly lane: Lane;
  /**
   * Load while it runs, waits included, in hundredths of a processor. Files run in parallel while
   * their sum fits.
   */
  readonly load: number;
  /** The file may run so long, ms. */
  readonly limitMs: number;
}

/** Longest run of one file, ms, on a machine that does other things too; a file that computes has what others leave. */
const LIMIT_MS: Readonly<Record<Suite, number>> = {
  unit: 120_000,
  property: 600_000,
  conformance: 120_000,
  integration: 300_000,
  chaos: 900_000,
  nemeses: 600_000,
  memory: 1_200_000,
};

/** Load of a file that starts processes and waits for them. */
const USUAL_LOAD = 50;
/** Measured: processor time by time, a little more where a file suffers from its neighbours. */
const LOADS: readonly (readonly [begin: string, load: number])[] = [
  ['test/unit/', 66],
  ['test/nemeses/one-broker', 50],
  ['test/nemeses/', 90],
  ['test/chaos/kill', 90],
  ['test/integration/upgrade/', 90],
  // These hold the connector to seconds that it promises: only files that compute beside them.
  ['test/integration/connector/shutdown', 151],
  ['test/integration/connector/restart', 151],
  ['test/chaos/crash-points', 90],
];
/**
 * Files that begin first, the one with a broker of its own before the one that waits for the shared broker. They leave
 * no room for others of the usual lane, which would hold them back until nothing is left to compute beside them.
 */
const FIRST = ['test/integration/connector/shutdown', 'test/integration/connector/restart'];
/** Files that begin before the rest of the usual lane, the longest first: otherwise one runs alone at the end. */
const LONG = [
  'test/nemeses/',
  'test/chaos/kill',
  'test/chaos/crash-points',
  'test/integration/liveness/',
  'test/integration/console/outages',
  'test/integration/docs/',
  'test/integration/upgrade/',
  'test/integration/tools/',
];
const COMPUTE = ['test/property/', 'test/chaos/simulation', 'test/chaos/judge'];

const rankIn = (starts: readonly string[], file: string) =>
  starts.findIndex((start) => file.startsWith(start));

/** In the order in which they should begin. */
export function planOf(files: readonly string[]): Plan[] {
  const order = (file: string) => {
    const long = rankIn(LONG, file);
    const suite = SUITES.indexOf(suiteOf(file));
    const first = rankIn(FIRST, file);
    if (first >= 0) return first - FIRST.length;
    // Unit tests next: they tell of most mistakes within a minute.
    return suiteOf(file) === 'unit' ? 0 : long >= 0 ? 1 + long : 1 + LONG.length + suite;
  };
  return files
    .toSorted((a, b) => order(a) - order(b) || (a < b ? -1 : 1))
    .map((file) => {
      const suite = suiteOf(file);
      const lane = suite === 'memory' ? 'alone' : rankIn(COMPUTE, file) >= 0 ? 'compute' : 'usual';
      const load =
        lane === 'compute'
          ? 100
          : (LOADS.find(([begin]) => file.startsWith(begin))?.[1] ?? USUAL_LOAD);
      return { file, lane, load, limitMs: LIMIT_MS[suite] };
    });
}
