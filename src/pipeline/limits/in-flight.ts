/** Records of a shard that no job in the journal names: those taken and not yet claimed, and those whose transaction is in hand. */

/** Records that go the same way for now; it lasts until the last of them was dropped. */
export class Held {
  /** Timestamp of the oldest, ms; of those that went already, perhaps: never later than that of what is left. */
  readonly oldestEventMs: number;
  readonly #dropped: (records: number, empty: boolean) => void;
  #records: number;

  constructor(
    records: number,
    oldestEventMs: number,
    dropped: (records: number, empty: boolean) => void,
  ) {
    this.#records = records;
    this.oldestEventMs = oldestEventMs;
    this.#dropped = dropped;
  }

  /** So many are held here no more: a job names them, or they go out. */
  drop(records: number): void {
    this.#records -= records;
    this.#dropped(records, this.#records <= 0);
  }
}

export class Holdings {
  readonly #all = new Set<Held>();
  #records = 0;

  get records(): number {
    return this.#records;
  }

  /** Timestamp of the oldest record held, ms; Infinity when there is none. */
  get oldestEventMs(): number {
    let oldestMs = Number.POSITIVE_INFINITY;
    for (const { oldestEventMs } of this.#all) oldestMs = Math.min(oldestMs, oldestEventMs);
    return oldestMs;
  }

  hold(records: number, oldestEventMs: number): Held {
    const held = new Held(records, oldestEventMs, (dropped, empty) => {
      this.#records -= dropped;
      if (empty) this.#all.delete(held);
    });
    this.#records += records;
    this.#all.add(held);
    return held;
  }
}

export class InFlight {
  /** In open buffers, which know how old they are. */
  buffered = 0;
  /** Sealed, held back, or on their way to the dead letters. */
  readonly unclaimed = new Holdings();
  /** Terminal records in a transaction that is not through. */
  readonly committing = new Holdings();

  get records(): number {
    return this.buffered + this.unclaimed.records + this.committing.records;
  }

  /** But for those in buffers: see Holdings. */
  get oldestEventMs(): number {
    return Math.min(this.unclaimed.oldestEventMs, this.committing.oldestEventMs);
  }
}
