/** Counts of records in flight: consumed or recovered, but without a terminal record yet. */

import type { Lane } from './lanes.ts';

/** Group of records that are counted together until the last one is in a job or published. */
export interface InFlightRecords {
  /** Timestamp of the oldest record, ms, even if that one was dropped. */
  readonly oldestEventMs: number;
  /** Lane of their batch; undefined for dead letters and terminal records. */
  readonly lane: Lane | undefined;
  /** Number of records that are left. */
  readonly left: number;
  /** Removes records that are now in a job or published. */
  drop(records: number): void;
}

/** Records in flight outside of jobs: not in one yet, or settled by a running transaction. */
export class InFlightCount {
  readonly #all = new Set<InFlightRecords>();
  readonly #byLane = new Map<Lane | undefined, number>();
  #records = 0;

  get records(): number {
    return this.#records;
  }

  /** Timestamp of the oldest record, ms; Infinity if there is none. */
  get oldestEventMs(): number {
    return earliest(Array.from(this.#all, ({ oldestEventMs }) => oldestEventMs));
  }

  /** Records of a lane. */
  of(lane: Lane): readonly InFlightRecords[] {
    return [...this.#all].filter((one) => one.lane === lane);
  }

  /** Number of records of a lane. */
  recordsOf(lane: Lane): number {
    return this.#byLane.get(lane) ?? 0;
  }

  add(records: number, oldestEventMs: number, lane?: Lane): InFlightRecords {
    const count = (change: number) => {
      this.#records += change;
      this.#byLane.set(lane, (this.#byLane.get(lane) ?? 0) + change);
    };
    const added = {
      oldestEventMs,
      lane,
      left: records,
      drop: (gone: number) => {
        count(-gone);
        added.left -= gone;
        if (added.left <= 0) this.#all.delete(added);
      },
    };
    count(records);
    this.#all.add(added);
    return added;
  }
}

export class InFlight {
  /** Number of records in open buffers; `ItemBuffers` has their age. */
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

/** Returns the earliest time, or Infinity if there is none. `Math.min` cannot take this many. */
export function earliest(timesMs: readonly number[]): number {
  return timesMs.reduce((least, ms) => Math.min(least, ms), Infinity);
}
