/**
 * Concurrency plan of test files. Most files wait most of the time: for brokers, sessions, timers,
 * processes. Those that only compute have no clock but their own, and fill what the others leave of
 * the processors, at a lower priority.
 */
import { SUITES, suiteOf } from './suites.ts';

/** `compute`: at a lower priority, and not counted among the others. `alone`: it measures. */
export type Lane = 'usual' | 'compute' | 'alone';

export interface Plan {
  /** Its path, or the name of a bundle. */
  readonly file: string;
  /** Paths of the files of a bundle, which share a process. */
  readonly bundle?: readonly string[];
  readonly lane: Lane;
  /**
   * Load while it runs, waits included, in hundredths of a processor. Files run in parallel while
   * their sum fits.
   */
  readonly load: number;
}

/**
 * Longest run of one file, ms. It ends only a file that hangs: on a slow machine, a file of the `compute` lane may
 * wait many minutes for a processor.
 */
export const LIMIT_MS = 1_800_000;

/** Load of a file that starts processes and waits for them. */
const USUAL_LOAD = 40;
/** More than there is: nothing else of the lane runs beside the file. */
const ALL = 1_000;
/** Measured: processor time by time, a little more where a file suffers from its neighbours. */
const LOADS: readonly (readonly [begin: string, load: number])[] = [
  ['test/unit/', 66],
  ['packages/client/test/unit/', 66],
  ['test/integration/upgrade/', 75],
  // It waits: for sessions that end, for backoffs.
  ['test/integration/kafka/group-failures', 25],
  // These hold the connector to seconds that it promises: only files that compute beside them.
  ['test/integration/connector/shutdown', ALL],
  ['test/chaos/kills', ALL],
];
/** Files that begin before the rest of the usual lane, in this order. */
const FIRST = [
  // Later they would hold others back until nothing is left to compute beside them. Shutdown waits for the shared broker.
  'test/chaos/kills',
  'test/integration/connector/shutdown',
  // Unit tests report most mistakes within a minute.
  'test/unit/',
  // The longest: otherwise one runs alone at the end.
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
 * Files in one process, at most so many, of folders whose files leave each other alone: to start a
 * process, and to compile in it, takes half of their processor time.
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
/** By themselves: they take as long as a bundle, or replace members of classes of kafkajs. */
const UNBUNDLED = [
  'test/property/protocol/',
  'test/property/pipeline/',
  'test/unit/kafka/admin.test.ts',
  'test/unit/kafka/cluster-connection.test.ts',
  'test/unit/kafka/producer/batch-producer.test.ts',
];

/** In the order in which they should begin. */
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
      const lane = suite === 'memory' ? 'alone' : rankIn(COMPUTE, file) >= 0 ? 'compute' : 'usual';
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
    // Neighbours, which are alike, go to different bundles.
    return Array.from({ length: bundles }, (_, at) => ({
      file: `${name}/* (${at + 1} of ${bundles})`,
      bundle: together.filter((_, n) => n % bundles === at),
    }));
  });
}
