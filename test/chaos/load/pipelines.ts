/** Pipelines of all kinds for chaos, with their events. */
import type { SeededRandom } from '../../support/memory/clock.ts';
import type { PipelineSetup, StackOptions } from '../../support/stack/stack.ts';
import { ReviewEvents } from './hostile-events.ts';
import { type HostileEvents, RETURNED_HEADERS } from './hostile-parts.ts';
import { ImportEvents } from './import-events.ts';
import { LookupEvents } from './lookup-events.ts';

export const KINDS = ['review', 'import', 'lookup'] as const;
export type Kind = (typeof KINDS)[number];

/** Choices of a test. */
export interface Choices {
  /** Kind with shortened waits. Other kinds have default options. */
  readonly hasty: Kind;
  /** Result column of reviews. Default: the connector finds it by name. */
  readonly resultColumn?: string;
  readonly kafka: Readonly<Record<string, string>>;
  /** Quota of the reviews, rows per minute. Default: none. */
  readonly quota?: number | undefined;
}

interface Size {
  readonly partitions: number;
  readonly shards: number;
  readonly maxRows: number;
  readonly maxAge: string;
}

/** Reviews are most of the work. Their shards have one or two partitions. */
const SIZES: Readonly<Record<Kind, Size>> = {
  review: { partitions: 6, shards: 4, maxRows: 250, maxAge: '600ms' },
  import: { partitions: 3, shards: 2, maxRows: 40, maxAge: '1500ms' },
  lookup: { partitions: 2, shards: 2, maxRows: 20, maxAge: '1500ms' },
};

/** Number of shards of reviews with a quota. All have equally many partitions, so each has work for its part of the quota. */
export const QUOTA_SHARDS = 3;

/** Waits that are shorter than some faults of the service. */
const HASTY = {
  poll: '500ms',
  grace: '3s',
  pause: '2s',
};

/** Settings by which the topic neither refuses a timestamp nor deletes a record because of it. */
const ANY_TIMESTAMP = {
  'message.timestamp.after.max.ms': String(2n ** 63n - 1n),
  'retention.ms': '-1',
};

export const partitionsOf = (kind: Kind): number => SIZES[kind].partitions;

/** Returns the setup of one pipeline of each kind. */
export function setupOf(choices: Choices): Pick<StackOptions, keyof PipelineSetup | 'beside'> {
  const setup = (kind: Kind) => pipelineOf(kind, choices);
  const [first, ...others] = KINDS;
  return { ...setup(first), beside: others.map(setup) };
}

function pipelineOf(kind: Kind, { hasty, resultColumn, kafka, quota }: Choices): PipelineSetup {
  const { partitions, shards, maxRows, maxAge } = SIZES[kind];
  return {
    partitions,
    sourceSettings: ANY_TIMESTAMP,
    decisionPartitions: kind === 'review' ? 3 : 1,
    pipeline: {
      name: kind,
      kind,
      journal: { partitions: shards },
      batch: { maxRows, maxAge },
      ...(kind === 'review' &&
        quota !== undefined && {
          journal: { partitions: QUOTA_SHARDS },
          quota: { rowsPerMinute: quota },
        }),
      output: { headers: [...RETURNED_HEADERS] },
      review: {
        ...(kind === hasty ? HASTY : {}),
        // Time after which an unknown id becomes an error.
        ...(kind === 'lookup' ? { grace: HASTY.grace } : {}),
        // More attempts than the faults of a run can use up for one record.
        attempts: 20,
        ...(resultColumn === undefined || kind !== 'review' ? {} : { resultColumn }),
      },
      kafka,
    },
  };
}

const EVENTS = { review: ReviewEvents, import: ImportEvents, lookup: LookupEvents };

export const eventsOf = (kind: Kind, random: SeededRandom): HostileEvents =>
  new EVENTS[kind](random);
