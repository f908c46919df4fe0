/** Records in flight: consumed or recovered, and without a terminal record. */

import type { Lane } from './lanes.ts';

/** Records that share their way until the last of them is in a job or published. */
export interface InFlightRecords {
  /** Timestamp of the oldest, ms; it may have left. */
  readonly oldestEventMs: number;
  /** Lane of their batch; undefined for dead letters and terminal records. */
  readonly lane: Lane | undefined;
  /** Number of records that are left. */
  readonly left: number;
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

  /** Timestamp of the oldest, ms; Infinity for none. */
  get oldestEventMs(): number {
    return earliest(Array.from(this.#all, ({ oldestEventMs }) => oldestEventMs));
  }

  /** Records of a lane. */
  of(lane: Lane): readonly InFlightRecords[] {
    return [...this.#all].filter((one) => one.lane === lane);
  }

  add(records: number, oldestEventMs: number, lane?: Lane): InFlightRecords {
    const added = {
      oldestEventMs,
      lane,
      left: records,
      drop: (gone: number) => {
        this.#records -= gone;
        added.left -= gone;
        if (added.left <= 0) this.#all.delete(added);
      },
    };
    this.#records += records;
    this.#all.add(added);
    return added;
  }
}

export class InFlight {
  /** Records in open buffers; `ItemBuffers` has their age. */
  buffered = 0;
  /** Records that intake has passed over; `Deferrals` has their age. */
  deferred = 0;
  /** Records in sealed and parked batches, and those that will be dead letters. */
  readonly unassigned = new InFlightCount();
  /** Terminal records in the running transaction. */
  readonly committing = new InFlightCount();

  get records(): number {
    return this.buffered + this.deferred + this.unassigned.records + this.committing.records;
  }
}

/** Returns the least of some times; Infinity for none. There may be more than a call has arguments. */
export function earliest(timesMs: readonly number[]): number {
  return timesMs.reduce((least, ms) => Math.min(least, ms), Infinity);
}
