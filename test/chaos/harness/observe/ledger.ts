/**
 * Terminal records due for each source record by the documented promise: one, and one more for each
 * reset of the group over a settled record. Independent of the connector's code.
 */

/**
 * Outstanding outcome of one source record. `maybe`: set aside by a forward reset, unless a live
 * batch already had it.
 */
type Due = 'due' | 'done' | 'maybe';

interface Entry {
  due: Due;
  /** Its terminal record must have at least this replay number: it has had one of each earlier round. */
  atLeast: number;
  readonly replays: Set<number>;
}

interface PartitionLedger {
  readonly entries: Map<number, Entry>;
  readonly resets: Reset[];
  /** By offset of each record that is due: since when, `performance.now()`; the oldest first. */
  readonly dueSinceMs: Map<number, number>;
}

export interface Reset {
  readonly partition: number;
  readonly offset: number;
  /** Records that must be reviewed again because of it. */
  readonly again: number;
  /** Records that it may have set aside; those that got a terminal record all the same are found out later. */
  readonly aside: number[];
}

export interface Violation {
  readonly kind: 'twice' | 'lost' | 'not due' | 'wrong replay';
  readonly where: string;
}

export class Ledger {
  readonly violations: Violation[] = [];
  readonly #partitions = new Map<number, PartitionLedger>();
  #records = 0;
  #terminals = 0;

  /** Committed records of the source. */
  get records(): number {
    return this.#records;
  }

  get terminals(): number {
    return this.#terminals;
  }

  /** Records that must still get a terminal record. */
  get due(): number {
    let sum = 0;
    for (const { dueSinceMs } of this.#partitions.values()) sum += dueSinceMs.size;
    return sum;
  }

  /** Time since which the oldest of the records that are due is due, `performance.now()`. */
  get oldestDueMs(): number | undefined {
    const oldest = [...this.#partitions.values()].flatMap(({ dueSinceMs }) => {
      const { value } = dueSinceMs.values().next();
      return value === undefined ? [] : [value];
    });
    return oldest.length === 0 ? undefined : Math.min(...oldest);
  }

  /** By partition: how many are due. */
  dueByPartition(): Map<number, number> {
    return new Map(
      [...this.#partitions].map(([partition, { dueSinceMs }]) => [partition, dueSinceMs.size]),
    );
  }

  produced(partition: number, offset: number): void {
    const ledger = this.#of(partition);
    if (ledger.entries.has(offset))
      throw new Error(`offset ${offset} of partition ${partition} was read twice`);
    this.#records++;
    const entry: Entry = { due: 'due', atLeast: 0, replays: new Set() };
    ledger.entries.set(offset, entry);
    const reset = ledger.resets.at(-1);
    if (reset === undefined || offset >= reset.offset)
      ledger.dueSinceMs.set(offset, performance.now());
    else {
      // It was in an open transaction when the reset passed it over.
      entry.due = 'maybe';
      reset.aside.push(offset);
    }
  }

  /** @param replay number at the end of its event id, 0 for none. @returns whether it was due. */
  terminal(partition: number, offset: number, replay: number): boolean {
    this.#terminals++;
    const ledger = this.#of(partition);
    const entry = ledger.entries.get(offset);
    const where = `${partition}:${offset}`;
    if (entry === undefined) {
      this.violations.push({
        kind: 'not due',
        where: `${where} (no committed record stands there)`,
      });
      return false;
    }
    if (entry.replays.has(replay)) {
      this.violations.push({ kind: 'twice', where: `${where}#${replay}` });
      return false;
    }
    entry.replays.add(replay);
    if (entry.due === 'done') {
      this.violations.push({
        kind: 'twice',
        where: `${where}#${replay} after ${[...entry.replays].join()}`,
      });
      return false;
    }
    if (replay < entry.atLeast || replay > ledger.resets.length) {
      this.violations.push({
        kind: 'wrong replay',
        where: `${where}#${replay}, of ${entry.atLeast} to ${ledger.resets.length}`,
      });
    }
    ledger.dueSinceMs.delete(offset);
    entry.due = 'done';
    return true;
  }

  /** The group was set to `offset` while no replica ran and everything committed had been told to this ledger. */
  reset(partition: number, offset: number): Reset {
    const ledger = this.#of(partition);
    const aside: number[] = [];
    let again = 0;
    const round = ledger.resets.length + 1;
    for (const [at, entry] of ledger.entries) {
      if (at < offset) {
        if (entry.due !== 'due') continue;
        entry.due = 'maybe';
        ledger.dueSinceMs.delete(at);
        aside.push(at);
      } else if (entry.due !== 'due') {
        if (entry.due === 'done') {
          again++;
          entry.atLeast = round;
        }
        entry.due = 'due';
        ledger.dueSinceMs.set(at, performance.now());
      }
    }
    const reset = { partition, offset, again, aside };
    ledger.resets.push(reset);
    return reset;
  }

  /** True if the record has its terminal record. */
  isDone(partition: number, offset: number): boolean {
    return this.#partitions.get(partition)?.entries.get(offset)?.due === 'done';
  }

  /**
   * True if the record was read from the source and no terminal record is due: it has one, or a
   * reset passed it over.
   */
  isSettled(partition: number, offset: number): boolean {
    const due = this.#partitions.get(partition)?.entries.get(offset)?.due;
    return due !== undefined && due !== 'due';
  }

  /** True if any record of the partition has its terminal record. */
  hasTerminal(partition: number): boolean {
    return [...(this.#partitions.get(partition)?.entries.values() ?? [])].some(
      ({ due }) => due === 'done',
    );
  }

  get resets(): Reset[] {
    return [...this.#partitions.values()].flatMap(({ resets }) => resets);
  }

  /** Records that no terminal record came for because a reset passed them over. */
  passedOver({ partition, aside }: Reset): number[] {
    const { entries } = this.#of(partition);
    return aside.filter((at) => entries.get(at)?.due === 'maybe');
  }

  /** Returns the outstanding records. */
  missing(): string[] {
    return [...this.#partitions].flatMap(([partition, { entries }]) =>
      [...entries]
        .filter(([, { due }]) => due === 'due')
        .map(([offset]) => `${partition}:${offset}`),
    );
  }

  #of(partition: number): PartitionLedger {
    let ledger = this.#partitions.get(partition);
    if (ledger === undefined) {
      ledger = { entries: new Map(), resets: [], dueSinceMs: new Map() };
      this.#partitions.set(partition, ledger);
    }
    return ledger;
  }
}
