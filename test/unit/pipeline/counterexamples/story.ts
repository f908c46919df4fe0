/** Shared steps of the model's counterexamples (docs/protocol). */
import type { Transaction } from '../../../../src/core/ports/kafka.ts';
import { changed } from '../../../support/engine/changed.ts';
import {
  type Instance,
  TOPICS,
  type World,
  type WrapPorts,
} from '../../../support/engine/world.ts';
import type { CommitAttempt, CommitFate } from '../../../support/memory/kafka/kafka.ts';

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
/** Buffers do not seal by age in the time of a story. */
export const NO_AGE = 60 * MINUTE;

export type Step = 'owner' | 'job' | 'move' | 'decisions' | 'dead letter' | 'progress';

/** Which step of the protocol a transaction is. */
export function stepOf({ journal, outputs, offsets }: Transaction): Step {
  const topic = outputs?.[0]?.topic;
  if (topic !== undefined) return topic === 'dead' ? 'dead letter' : 'decisions';
  if (journal.some(({ key, value }) => /^job\/[^/]+$/.test(key) && value !== null))
    return (offsets ?? []).length > 0 ? 'job' : 'move';
  return journal.some(({ key }) => key === 'owner') ? 'owner' : 'progress';
}

/** Gives the first commit of a step another fate than the others have. */
export function strike(step: Step, fate: CommitFate): (attempt: CommitAttempt) => CommitFate {
  let struck = false;
  return ({ transaction }) => {
    if (struck || stepOf(transaction) !== step) return 'commit';
    struck = true;
    return fate;
  };
}

/** Something that waits until the test opens it. */
export class Gate {
  readonly #opened: Promise<void>;
  #open = () => {};
  /** Number of waits that began here. */
  reached = 0;

  constructor() {
    this.#opened = new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  open(): void {
    this.#open();
  }

  pass(): Promise<void> {
    this.reached++;
    return this.#opened;
  }
}

/** Commits that `holds` picks do not leave the client before the gate opens. `number`: from 1, of this instance and step. */
export function holdCommits(
  gate: Gate,
  holds: (step: Step, number: number, client: string) => boolean,
): WrapPorts {
  return (ports) => {
    const numbers = new Map<Step, number>();
    const client = nameOf(ports.clock);
    return {
      ...ports,
      producers: {
        open: (shard) => {
          const producer = ports.producers.open(shard);
          return changed(producer, {
            commit: async (transaction) => {
              const step = stepOf(transaction);
              const number = (numbers.get(step) ?? 0) + 1;
              numbers.set(step, number);
              if (holds(step, number, client)) await gate.pass();
              return producer.commit(transaction);
            },
          });
        },
      },
    };
  };
}

export const claims = ({ metrics }: Instance): number =>
  metrics.counter('claims_total', { outcome: 'owned' });
export const outcomes = ({ metrics }: Instance, outcome: string): number =>
  metrics.counter('transactions_total', { outcome });

/** Runs until an instance was told that it cannot know what became of a commit: the moment to kill it. */
export const untilUnknown = (world: World, instance: Instance): Promise<void> =>
  world.clock.runUntil(() => outcomes(instance, 'unknown') === 1, MINUTE);

/** Returns the remaining records of each live job in the journal: offsets of partition 0. */
export const jobsLeft = (world: World): number[][] =>
  world.liveJobs().map(({ left }) => [...left].map(({ offset }) => offset).sort((a, b) => a - b));

/** Number of times that each offset of partition 0 was submitted for review. */
export const submissions = (world: World): number[] =>
  Array.from(
    { length: world.kafka.cluster.log(TOPICS.source, 0).committed().length },
    (_, offset) => world.service.submissions(0, offset),
  );

export const nameOf = (clock: object): string => (clock as { readonly name: string }).name;
