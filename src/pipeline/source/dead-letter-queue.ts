/** Dead letters, by choice, for records that nothing more is tried for (core/outcome/failure-table.ts): read again, and passed on as they came. */

import { CoordinateSet, type LiveJob } from '../../core/journal/job.ts';
import type { ClaimedCoordinate, CoordinateList } from '../../core/offsets/coordinate-list.ts';
import type { DeadLetterStage } from '../../core/outcome/dead-letter.ts';
import {
  type Poison,
  placeOf,
  type SourceCoordinate,
  type SourceRecord,
} from '../../core/record.ts';
import type { ShardContext } from '../context/shard-context.ts';
import type { Held } from '../limits/in-flight.ts';
import { letterOf, mayBeWhole } from '../publish/dead-letters.ts';
import { assertSameLog, readAgain, writtenBetween } from './reread.ts';

export interface DeadLetterQueue {
  readonly records: CoordinateList;
  /** The job that the records leave; undefined while they are in none. */
  readonly from: LiveJob | undefined;
  /** What holds them then. */
  readonly held: Held | undefined;
  readonly poison: Poison;
  readonly stage: DeadLetterStage;
}

/** A record that is to become a dead letter. */
interface Queued {
  readonly at: ClaimedCoordinate;
  readonly letters: DeadLetterQueue;
}

/** Records that one pass looks for: some hundred bytes each. */
const PASS_RECORDS = 20_000;
const BYTES_PER_RECORD = 256;

/** One pass over the source at a time serves all that waits. What waits holds its coordinates and nothing else. */
export class DeadLetterIntake {
  readonly #shard: ShardContext;
  readonly #waiting: DeadLetterQueue[] = [];
  #running = false;

  constructor(shard: ShardContext) {
    this.#shard = shard;
  }

  /** Each of the records gets its dead letter; those that are gone from the source with their coordinates alone. */
  add(letters: DeadLetterQueue): void {
    this.#waiting.push(letters);
    if (!this.#running) this.#shard.spawn('letters', () => this.#run());
  }

  async #run(): Promise<void> {
    this.#running = true;
    try {
      while (this.#waiting.length > 0) await this.#pass();
    } finally {
      this.#running = false;
    }
  }

  async #pass(): Promise<void> {
    const { context, signal } = this.#shard;
    const due = new Map<string, Queued>();
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      if (due.size > 0 && due.size + next.records.length > PASS_RECORDS) break;
      this.#waiting.shift();
      for (const at of next.records) due.set(placeOf(at), { at, letters: next });
    }
    const bytes = context.options.chunk.maxBytes + due.size * BYTES_PER_RECORD;
    const release = await this.#shard.saysWhy('work_memory', context.budget.work(bytes, signal));
    try {
      const whole = [...due.values()].filter(({ at, letters }) =>
        mayBeWhole(this.#shard, at, letters.poison),
      );
      const wanted = CoordinateSet.of(whole.map(({ at }) => at));
      await readAgain(this.#shard, wanted, async (found) => {
        for (const one of found) {
          const { records, from } = (due.get(placeOf(one)) as Queued).letters;
          assertSameLog(context.options, one, writtenBetween(from ?? records));
        }
        await this.#publish(found, due);
        for (const one of found) due.delete(placeOf(one));
      });
      await this.#publish(
        [...due.values()].map(({ at }) => at),
        due,
      );
    } finally {
      release();
    }
  }

  async #publish(
    records: readonly (SourceRecord | SourceCoordinate)[],
    due: ReadonlyMap<string, Queued>,
  ): Promise<void> {
    const { context, chunk } = this.#shard;
    const of = (one: SourceCoordinate) => due.get(placeOf(one)) as Queued;
    // Records that are in no job go out together, whatever batches they were sealed into.
    for (const [from, some] of Map.groupBy(records, (one) => of(one).letters.from)) {
      const render = (one: SourceRecord | SourceCoordinate) => this.#render(one, of(one));
      await chunk.inChunks(some, render, async (letters, ended) => {
        if (from === undefined) return this.#shard.deadLetter(letters, ended);
        await this.#shard.settle(from, context.options.deadLetters.topic, letters);
        context.ledger.deadLetters(ended);
      });
    }
  }

  #render(one: SourceRecord | SourceCoordinate, { at, letters: { poison, stage, held } }: Queued) {
    const { partition, offset, timestampMs, replay } = at;
    const { record, reason } = letterOf(this.#shard, one, poison, { stage, replay });
    return { at, record, about: { partition, offset, timestampMs, held, reason } };
  }
}
