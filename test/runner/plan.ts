/**
 * Concurrency plan of test files. Most files wait most of the time, for brokers, sessions, timers or
 * processes. Files that only compute do not depend on real time, so they run at a lower priority on
 * processors that are idle.
 */
import { ALONE, SUITES, suiteOf } from './suites.ts';

/**
 * Files in `compute` run at a lower priority and do not count as load. Files in `alone` measure, so no other
 * file runs with them.
 */
export type Lane = 'usual' | 'compute' | 'alone';

export interface Plan {
  /** Path of the file, or name of the bundle. */
  readonly file: string;
  /** Paths of the files in a bundle, which share a process. */
  readonly bundle?: readonly string[];
  readonly lane: Lane;
  /**
   * Average load of the file, including waits, in hundredths of a processor. Files run in parallel
   * while the sum of their loads is within the capacity.
   */
  readonly load: number;
}

/**
 * Maximum duration of one file in milliseconds. Only a file that hangs should reach it: on a slow machine, a file in the
 * `compute` lane may wait many minutes for a processor.
 */
export const LIMIT_MS = 1_800_000;

/** Load of a file that starts processes and waits for them. */
const USUAL_LOAD = 40;
/** Load above the capacity, so that no other file of the lane runs at the same time. */
const ALL = 1_000;
/** Measured CPU time divided by the duration, slightly increased for files that other files would disturb. */
const LOADS: readonly (readonly [begin: string, load: number])[] = [
  ['test/unit/', 66],
  ['packages/client/test/unit/', 66],
  ['test/integration/upgrade/', 75],
  // Waits for sessions to end and for backoffs.
  ['test/integration/kafka/group-failures', 25],
  // These files check documented time limits of the connector, so only files in `compute` may run in parallel.
  ['test/integration/connector/shutdown', ALL],
  ['test/chaos/kills', ALL],
];
/** Files that start before the rest of the usual lane, in this order. */
const FIRST = [
  // These must run while files in `compute` remain, because only such files run in parallel with them.
  // Shutdown waits for the shared broker.
  'test/chaos/kills',
  'test/integration/connector/shutdown',
  // Unit tests report most mistakes within a minute.
  'test/unit/',
  // The longest files. If they started later, one would run alone at the end.
  'test/integration/upgrade/',
  'test/integration/docs/',
  'test/integration/kafka/group-failures',
];
const COMPUTE = [
  'test/property/',
  'packages/client/test/property/',
  'test/chaos/simulation',
  'test/chaos/every-step',
  'test/chaos/judge/',
];

const rankIn = (starts: readonly string[], file: string) =>
  starts.findIndex((start) => file.startsWith(start));

/**
 * Folders whose files do not affect each other, with the maximum number of files per process.
 * Starting a process and compiling in it would take half of their CPU time.
 */
const BUNDLED: readonly (readonly [folder: string, most: number])[] = [
  ['test/unit', 32],
  ['test/property', 8],
  ['packages/client/test/unit', 16],
  ['packages/client/test/property', 8],
  ['packages/client/test/integration/library', 8],
  ['packages/client/test/integration/service', 16],
  ['packages/consumer/test/unit', 16],
  ['packages/sandbox/test/unit', 16],
  ['packages/sandbox/test/integration', 8],
];
/** Files that are not bundled, because they take as long as a bundle or replace members of kafkajs classes. */
const UNBUNDLED = [
  'test/property/protocol/',
  'test/property/pipeline/',
  'test/unit/kafka/admin.test.ts',
  'test/unit/kafka/cluster-connection.test.ts',
  'test/unit/kafka/producer/batch-producer.test.ts',
];

/** Returns the plans in the order in which they should start. */
export function planOf(files: readonly string[]): Plan[] {
  const order = (file: string) => {
    const first = rankIn(FIRST, file);
    return first >= 0 ? first : FIRST.length + SUITES.indexOf(suiteOf(file));
  };
  return bundled(files)
    .toSorted(({ file: a }, { file: b }) => order(a) - order(b) || (a < b ? -1 : 1))
    .map((one) => {
      const { file } = one;
      const suite = suiteOf(file);
      const lane = ALONE.has(suite) ? 'alone' : rankIn(COMPUTE, file) >= 0 ? 'compute' : 'usual';
      const load =
        lane === 'compute'
          ? 100
          : (LOADS.find(([begin]) => file.startsWith(begin))?.[1] ?? USUAL_LOAD);
      return { ...one, lane, load };
    });
}

function bundled(files: readonly string[]): Pick<Plan, 'file' | 'bundle'>[] {
  const folderOf = (file: string) =>
    rankIn(UNBUNDLED, file) >= 0
      ? undefined
      : BUNDLED.find(([folder]) => file.startsWith(`${folder}/`));
  return [...Map.groupBy(files, folderOf)].flatMap(([folder, together]) => {
    if (folder === undefined || together.length === 1) return together.map((file) => ({ file }));
    const [name, most] = folder;
    const bundles = Math.ceil(together.length / most);
    // Neighbouring files are similar, so they are distributed over the bundles.
    return Array.from({ length: bundles }, (_, at) => ({
      file: `${name}/* (${at + 1} of ${bundles})`,
      bundle: together.filter((_, n) => n % bundles === at),
    }));
  });
}
