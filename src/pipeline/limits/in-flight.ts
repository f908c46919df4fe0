/** Records in flight: consumed or recovered, and without a terminal record. */

/** Some records in flight of one content type. */
export interface Backlog {
  /** undefined before it is known. */
  readonly type: string | undefined;
  readonly records: number;
  /** Timestamp of the oldest, ms; records that have left may still count. */
  readonly oldestEventMs: number;
}

/** Records that share their way until the last of them is in a job or published. */
export interface InFlightRecords extends Backlog {
  /** Takes out records that are in a job or published now. */
  drop(records: number): void;
}

/** Records in flight that no job in the journal names: not yet in a job, or in a running transaction. */
export class InFlightCount {
  readonly #all = new Set<InFlightRecords>();
  #records = 0;

  get records(): number {
    return this.#records;
  }

  [Symbol.iterator](): IterableIterator<Backlog> {
    return this.#all.values();
  }

  add(records: number, oldestEventMs: number, type: string | undefined): InFlightRecords {
    const added = {
      type,
      records,
      oldestEventMs,
      drop: (gone: number) => {
        this.#records -= gone;
        added.records -= gone;
        if (added.records <= 0) this.#all.delete(added);
      },
    };
    this.#records += records;
    this.#all.add(added);
    return added;
  }
}

export class InFlight {
  /** Records in open buffers; `ItemBuffers` has their types and age. */
  buffered = 0;
  /** Records in sealed and parked batches, and those that will be dead letters. */
  readonly unassigned = new InFlightCount();
  /** Terminal records in the running transaction. */
  readonly committing = new InFlightCount();

  get records(): number {
    return this.buffered + this.unassigned.records + this.committing.records;
  }
}

/** Returns the least of some times; Infinity for none. There may be more than a call has arguments. */
export function earliest(timesMs: readonly number[]): number {
  return timesMs.reduce((least, ms) => Math.min(least, ms), Infinity);
}

/** Returns the earliest time as a gauge has it; undefined without one. */
export function oldestSeconds(timesMs: readonly number[]): number | undefined {
  const oldestMs = earliest(timesMs);
  return oldestMs === Infinity ? undefined : oldestMs / 1000;
}
