/** Coordinates of the records of a batch that is in no job yet, and their timestamps as far as they are needed. */

import type { SourceCoordinate } from '../record.ts';
import { CoordinateSet } from './job.ts';

type TimedCoordinate = SourceCoordinate & { readonly timestampMs: number };

export class BatchRecords extends CoordinateSet {
  /** Timestamps of the oldest and the newest record, ms; infinite without records. */
  oldestMs = Infinity;
  newestMs = -Infinity;
  readonly #last = new Map<number, TimedCoordinate>();

  constructor(records: Iterable<TimedCoordinate> = []) {
    super();
    for (const record of records) this.take(record);
  }

  /** @throws Error if the record is there already */
  take({ partition, offset, timestampMs }: TimedCoordinate): void {
    if (!this.add(partition, offset))
      throw new Error(`record ${partition}:${offset} is in the batch already`);
    if (timestampMs < this.oldestMs) this.oldestMs = timestampMs;
    if (timestampMs > this.newestMs) this.newestMs = timestampMs;
    if (offset > (this.#last.get(partition)?.offset ?? -1))
      this.#last.set(partition, { partition, offset, timestampMs });
  }

  /** Record with the highest offset of each partition, with its timestamp. */
  get last(): Iterable<TimedCoordinate> {
    return this.#last.values();
  }
}
