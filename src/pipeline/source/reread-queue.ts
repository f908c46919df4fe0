/**
 * The source topic is where content lives (DESIGN 3 'RereadQueue'): what must be submitted again, or was held back, is read from it
 * once more. Whoever waits, for its turn or at the gate of its type, waits before it is read and holds no content.
 */

import { detachedItem } from '../../core/batch/detached.ts';
import type { ItemBatch } from '../../core/batch/item-batch.ts';
import { CoordinateSet, type LiveJob } from '../../core/journal/job.ts';
import { type ClaimedCoordinate, CoordinateList } from '../../core/offsets/coordinate-list.ts';
import { attempt } from '../../core/outcome/internal-error.ts';
import { type ContentItem, type Poison, placeOf, type SourceRecord } from '../../core/record.ts';
import { openBatch } from '../context/open-batch.ts';
import type { ShardContext } from '../context/shard-context.ts';
import type { Submission } from '../context/submission.ts';
import type { Held } from '../limits/in-flight.ts';
import { BatchMemory } from '../limits/memory-budget.ts';
import type { GatePass } from '../limits/type-breakers.ts';
import type { DeadLetterIntake } from './dead-letter-queue.ts';
import {
  assertSameLog,
  DECODING_TURN_MS,
  readToDecode,
  type UnreadableRecord,
  type WrittenBetween,
  writtenBetween,
} from './reread.ts';

/** Records to be read again, and what becomes of them. */
export interface Wanted {
  readonly type: string;
  readonly records: () => CoordinateList;
  /** Memory that their items will take, and their body. */
  readonly bytes: number;
  /** The job that they are in, if any. */
  readonly from: LiveJob | undefined;
  /** What holds them if they are in none. */
  readonly held: Held | undefined;
  /** Resolves when they may be read: the order of submissions, or of decisions. */
  readonly turn: () => Promise<unknown>;
  /** Whether they will be submitted: then they wait at the gate of their type. */
  readonly submits: boolean;
  /**
   * Takes the items. Records that are gone, or do not decode, are not among them: those become dead letters.
   * @param batchOf makes a batch of some of them
   */
  readonly found: (
    items: readonly ContentItem[],
    pass: GatePass,
    batchOf: BatchOf,
  ) => Promise<void>;
}

/**
 * Resolves to a batch of items, with the memory that they are counted with. An item whose row cannot be written is not in it: it
 * becomes a dead letter. undefined when no other is left. @throws the reason of the shard's end
 */
export type BatchOf = (
  items: readonly ContentItem[],
) => Promise<Pick<Submission, 'batch' | 'memory'> | undefined>;

interface Ready {
  readonly wanted: Wanted;
  readonly pass: GatePass;
}

interface Reading extends Ready {
  readonly records: CoordinateList;
  readonly written: WrittenBetween;
  /** Those not found yet. */
  readonly left: CoordinateSet;
  readonly items: ContentItem[];
  readonly unreadable: Map<
    string,
    { readonly poison: Poison; readonly records: ClaimedCoordinate[] }
  >;
  /** Why the log could not give a record that is still there, by `placeOf`. */
  readonly lost: Map<string, Poison>;
}

/** Each record that is read is looked for in all that a pass serves. */
const MAX_SERVED = 256;

export class RereadQueue {
  readonly #shard: ShardContext;
  readonly #letters: DeadLetterIntake;
  readonly #ready: Ready[] = [];
  #running = false;

  constructor(shard: ShardContext, letters: DeadLetterIntake) {
    this.#shard = shard;
    this.#letters = letters;
  }

  add(wanted: Wanted): void {
    const { context, signal } = this.#shard;
    this.#shard.spawn('turn', async () => {
      await wanted.turn();
      const pass = wanted.submits ? await context.gates.pass(wanted.type, signal) : 'open';
      this.#ready.push({ wanted, pass });
      if (!this.#running) this.#shard.spawn('rewind', () => this.#run());
    });
  }

  async #run(): Promise<void> {
    this.#running = true;
    try {
      while (this.#ready.length > 0) await this.#pass();
    } finally {
      this.#running = false;
    }
  }

  /** One pass over the source for as many as memory has room for, at least one. */
  async #pass(): Promise<void> {
    const { context, signal } = this.#shard;
    const { budget } = context;
    const served: Ready[] = [];
    let bytes = 0;
    for (let next = this.#ready[0]; next !== undefined; next = this.#ready[0]) {
      if (
        served.length === MAX_SERVED ||
        (served.length > 0 && bytes + next.wanted.bytes > budget.rewindBytes)
      )
        break;
      this.#ready.shift();
      bytes += next.wanted.bytes;
      served.push(next);
    }
    let may = served;
    let readings: Reading[] = [];
    const release = await readToDecode(this.#shard, bytes, () => {
      may = may.filter((one) => this.#stillMay(one));
      readings = may.map(reading);
      const found = (records: readonly SourceRecord[], lost: readonly UnreadableRecord[]) => {
        this.#decodeAll(readings, records);
        for (const one of lost)
          readings
            .find(({ left }) => left.has(one.partition, one.offset))
            ?.lost.set(placeOf(one), one.poison);
      };
      return { wanted: allOf(readings), found };
    });
    // A batch that is made here holds the pass's memory until its body is encoded; from then on the body counts.
    let holders = 1;
    const letGo = () => {
      if (--holders === 0) release();
    };
    const memory = () => {
      holders++;
      return new BatchMemory((change) => budget.adopt(change), 0, letGo);
    };
    try {
      for (const { wanted, records, left, items, unreadable, lost, pass } of readings) {
        for (const at of records) {
          if (left.has(at.partition, at.offset))
            noteUnreadable(unreadable, at, lost.get(placeOf(at)) ?? GONE);
        }
        for (const { poison, records: some } of unreadable.values()) {
          const { from, held } = wanted;
          this.#letters.add({
            records: new CoordinateList(some),
            from,
            held,
            poison,
            stage: 'rewind',
          });
        }
        signal.throwIfAborted();
        let batches = 0;
        await wanted.found(items, pass, async (some) => {
          const batch = await this.#batchOf(wanted, some);
          if (batch === undefined) return undefined;
          batches++;
          return { batch, memory: memory() };
        });
        if (batches === 0 && pass === 'probe') context.gates.returned(wanted.type, signal);
      }
    } finally {
      letGo();
    }
  }

  /** A batch of items that were read again, which are in memory until it is whole. */
  async #batchOf(
    { type, from, held }: Wanted,
    items: readonly ContentItem[],
  ): Promise<ItemBatch | undefined> {
    const { context, signal } = this.#shard;
    const { clock } = context;
    const batch = openBatch(this.#shard, type, from);
    let whole = false;
    try {
      const sinceMs = clock.monotonic();
      let turnMs = sinceMs;
      for (const item of items) {
        const added = attempt(() => batch.add(item, sinceMs));
        if ('poison' in added) {
          const { poison } = added;
          this.#letters.add({
            records: new CoordinateList([item]),
            from,
            held,
            poison,
            stage: 'rewind',
          });
        }
        if (clock.monotonic() - turnMs < DECODING_TURN_MS) continue;
        await clock.sleep(0, signal);
        turnMs = clock.monotonic();
      }
      whole = batch.length > 0;
      return whole ? batch : undefined;
    } finally {
      if (!whole) batch.sink.release();
    }
  }

  /** Its gate may have closed while it waited for memory: then it waits there again. */
  #stillMay({ wanted, pass }: Ready): boolean {
    const may =
      !wanted.submits || pass === 'probe' || this.#shard.context.gates.isOpen(wanted.type);
    if (!may) this.add(wanted);
    return may;
  }

  #decodeAll(readings: readonly Reading[], records: readonly SourceRecord[]): void {
    for (const record of records) {
      const one = readings.find(({ left }) => left.has(record.partition, record.offset));
      if (one !== undefined) this.#decode(one, record);
    }
  }

  #decode(
    { wanted, records, written, left, items, unreadable }: Reading,
    record: SourceRecord,
  ): void {
    const { partition, offset, timestampMs } = record;
    assertSameLog(this.#shard.context.options, record, written);
    left.delete(partition, offset);
    const replay = records.replayOf(partition);
    const decoded = this.#shard.context.kind.decode(record, replay, { type: wanted.type });
    if ('item' in decoded) {
      items.push(detachedItem(decoded.item));
      return;
    }
    const poison: Poison =
      'poison' in decoded
        ? decoded.poison
        : {
            reason: 'source_unavailable',
            message: `configuration skips this record now (${decoded.skip})`,
          };
    noteUnreadable(unreadable, { partition, offset, timestampMs, replay }, poison);
  }
}

function noteUnreadable(
  unreadable: Reading['unreadable'],
  at: ClaimedCoordinate,
  poison: Poison,
): void {
  const key = `${poison.reason} ${poison.message}`;
  const same = unreadable.get(key) ?? { poison, records: [] };
  unreadable.set(key, same);
  same.records.push(at);
}

const GONE: Poison = {
  reason: 'source_unavailable',
  message: 'the source topic no longer has this record, so it cannot be submitted again',
};

function allOf(readings: readonly Reading[]): CoordinateSet {
  const all = new CoordinateSet();
  for (const { left } of readings)
    for (const { partition, offset } of left) all.add(partition, offset);
  return all;
}

function reading(ready: Ready): Reading {
  const records = ready.wanted.records();
  const written = writtenBetween(ready.wanted.from ?? records);
  return {
    ...ready,
    records,
    written,
    left: CoordinateSet.of(records),
    items: [],
    unreadable: new Map(),
    lost: new Map(),
  };
}
