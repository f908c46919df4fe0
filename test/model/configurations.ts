/** Configurations of the model, by name, with their expected results. */
import type { Rules } from './rules.ts';

export type Expected =
  | {
      readonly found: 'live';
      readonly states: number;
      readonly transitions: number;
      readonly done: number;
    }
  | { readonly found: 'violation'; readonly what: string; readonly steps: number }
  | { readonly found: 'stuck'; readonly steps: number };

export interface Configuration {
  readonly name: string;
  readonly records: string;
  readonly slots: number;
  /** Deviations from the rules of the connector. */
  readonly rules: Partial<Rules>;
  readonly expected: Expected;
}

const TWO_JOBS = 'I1: two live jobs contain one offset';
const TWICE = 'I2: second terminal record for one offset';

/**
 * Configurations with the connector's rules, which must be live and without violations. All are small enough
 * for every test run. `keepsStateWithoutShard` allows more than the connector, which drops the state of a
 * shard that the group assigned to another instance.
 */
export const DESIGN: readonly Configuration[] = [
  design('design-2', 'A0.A0', 4, {}, [329_841, 3_123_095, 296]),
  design('design-2-partitions', 'A0.A1', 4, {}, [289_809, 2_721_071, 256]),
  design(
    'design-2-refused-types',
    'A0.B0',
    4,
    { deadLettersRefusedTypes: true },
    [138_953, 1_322_979, 264],
  ),
  design('design-3-dead-letter', 'A0.X0.B0', 2, {}, [243_769, 2_221_671, 320]),
  design(
    'design-3-no-kept-state',
    'A0.A0.B0',
    2,
    { keepsStateWithoutShard: false },
    [543_997, 5_029_201, 248],
  ),
  design('design-reset', 'A0.B0', 3, { reset: 'keeps-live-jobs' }, [257_491, 2_341_671, 696]),
  design(
    'design-reset-dead-letter',
    'A0.X1',
    3,
    { reset: 'keeps-live-jobs' },
    [24_635, 184_983, 572],
  ),
  design('design-drain', 'A0.B0', 2, { command: 'drain' }, [516_099, 4_772_145, 1_576]),
  design(
    'design-spoilt-drain',
    'A0.X0',
    2,
    { command: 'drain', spoilsCommand: true },
    [238_739, 2_072_797, 4_562],
  ),
  design(
    'design-spoilt-pause',
    'A0.X0',
    2,
    { command: 'pause', spoilsCommand: true },
    [313_531, 2_812_305, 4_562],
  ),
];

/** Configurations without one of the rules, with the expected violation. */
export const COUNTEREXAMPLES: readonly Configuration[] = [
  broken(
    'rewind-rebuffers',
    'A0.B0',
    { rewinds: 'shared', intakeKnowsWhatItTook: false },
    TWO_JOBS,
    16,
  ),
  broken('reset-as-written', 'A0.B0', { reset: 'forgets-claims' }, TWO_JOBS, 18),
  stuck('no-seek-at-join', 'A0', { rewinds: 'shared', seeksAtJoin: false }, 10),
  broken(
    'no-seek-and-no-check',
    'A0.B0',
    { seeksAtJoin: false, intakeKnowsWhatItTook: false },
    TWO_JOBS,
    11,
  ),
  stuck('barrier-by-content-compacted', 'A0', { barrierByContent: true }, 6),
  broken('stale-offset-taken-for-reset', 'A0.B0', { believesStaleOffsets: true }, TWO_JOBS, 14),
  broken('no-fence', 'A0.B0', { fences: false }, TWO_JOBS, 15),
  broken('no-barrier', 'A0.B0', { barrier: false }, TWO_JOBS, 13),
  broken(
    'no-chunk-bookkeeping',
    'A0.A0',
    { chunksShrinkJob: false },
    'I1: a live job contains a settled offset',
    13,
  ),
  broken('no-row-dedup', 'A0.A0', { dropsSettledRows: false }, TWICE, 15),
  broken('no-set', 'A0.B0', { honoursProgress: false }, TWO_JOBS, 16),
  broken(
    'upload-first',
    'A0',
    { journalsBeforeUpload: false },
    'I4: upload without a committed job record',
    7,
  ),
  broken('move-in-two', 'A0.B0', { movesAtOnce: false }, TWO_JOBS, 12),
  broken('blind-retry', 'A0.A0', { retriesBlindly: true }, TWICE, 14),
  broken(
    'drained-with-buffer',
    'A0',
    { command: 'drain', acknowledgesAtRest: false },
    'drained, but records are in flight',
    9,
  ),
  broken(
    'command-unread-at-claim',
    'A0',
    { command: 'drain', claimReadsCommand: false },
    'drained, but records are in flight',
    13,
  ),
  broken(
    'acknowledgement-without-revision',
    'A0',
    { command: 'drain', acknowledgesRevision: false },
    'drained, but records are in flight',
    11,
  ),
  broken(
    'spoilt-command-forgotten',
    'A0',
    { command: 'drain', spoilsCommand: true, continuesFromAcknowledgement: false },
    'drained, but records are in flight',
    13,
  ),
  stuck(
    'spoilt-command-not-replaced',
    'A0',
    { command: 'drain', spoilsCommand: true, replacesSpoilt: false },
    6,
  ),
  stuck('no-abandon', 'A0', { abandonsStuckUploads: false }, 7),
];

type Counts = readonly [states: number, transitions: number, done: number];

function design(
  name: string,
  records: string,
  slots: number,
  rules: Partial<Rules>,
  [states, transitions, done]: Counts,
): Configuration {
  return {
    name,
    records,
    slots,
    rules,
    expected: { found: 'live', states, transitions, done },
  };
}

function broken(
  name: string,
  records: string,
  rules: Partial<Rules>,
  what: string,
  steps: number,
): Configuration {
  return { name, records, slots: 4, rules, expected: { found: 'violation', what, steps } };
}

function stuck(name: string, records: string, rules: Partial<Rules>, steps: number): Configuration {
  return { name, records, slots: 4, rules, expected: { found: 'stuck', steps } };
}
