/**
 * Terminal records that each source record must get by the documented guarantee: one, plus one for each reset of the
 * group over a settled record. The ledger uses no code of the connector.
 */

/** State of one source record. `maybe`: skipped by a forward reset, unless a live batch already contained it. */
type Due = 'due' | 'done' | 'maybe';

interface Entry {
  due: Due;
  /** Minimum generation of the next terminal record. The record has a terminal record for each earlier generation. */
  atLeast: number;
  readonly replays: Set<number>;
}

interface PartitionLedger {
  readonly entries: Map<number, Entry>;
  readonly resets: Reset[];
  /** Offset of each outstanding record → `performance.now()` when it became due; oldest first. */
  readonly dueSinceMs: Map<number, number>;
}

export interface Reset {
  readonly partition: number;
  readonly offset: number;
  /** Number of settled records that must be reviewed again after the reset. */
  readonly again: number;
  /** Offsets that the reset may have skipped. Some of them may still get a terminal record. */
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

  /** Number of committed source records. */
  get records(): number {
    return this.#records;
  }

  get terminals(): number {
    return this.#terminals;
  }

  /** Number of records without their terminal record. */
  get due(): number {
    let sum = 0;
    for (const { dueSinceMs } of this.#partitions.values()) sum += dueSinceMs.size;
    return sum;
  }

  /** `performance.now()` when the oldest outstanding record became due. */
  get oldestDueMs(): number | undefined {
    const oldest = [...this.#partitions.values()].flatMap(({ dueSinceMs }) => {
      const { value } = dueSinceMs.values().next();
      return value === undefined ? [] : [value];
    });
    return oldest.length === 0 ? undefined : Math.min(...oldest);
  }

  /** Number of outstanding records by partition. */
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
      // The record was in an open transaction when the reset skipped it.
      entry.due = 'maybe';
      reset.aside.push(offset);
    }
  }

  /** @param replay generation at the end of its event id, 0 if absent. @returns whether a terminal record was due */
  terminal(partition: number, offset: number, replay: number): boolean {
    this.#terminals++;
    const ledger = this.#of(partition);
    const entry = ledger.entries.get(offset);
    const where = `${partition}:${offset}`;
    if (entry === undefined) {
      this.violations.push({
        kind: 'not due',
        where: `${where} (there is no committed record)`,
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

  /** Records a reset of the group to `offset`. No replica may run, and the ledger must have all committed records. */
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

  /** True if the record was read from the source and has its terminal record, or a reset skipped it. */
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

  /** Returns the offsets that the reset skipped and that have no terminal record. */
  passedOver({ partition, aside }: Reset): number[] {
    const { entries } = this.#of(partition);
    return aside.filter((at) => entries.get(at)?.due === 'maybe');
  }

  /** Returns the coordinates of the outstanding records. */
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
