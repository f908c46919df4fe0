/**
 * Byte budget of the whole process (I7): rows in buffers, bodies being uploaded, chunks being
 * settled, and records read again. Intake may use 70 %; settling and rereading keep the rest, so
 * that they can always finish.
 */
import { abortable } from '../../base/abortable.ts';
import { INTAKE_SHARE } from '../../core/batch/buffer.ts';
import { BufferPool } from '../../core/bytes/buffer-pool.ts';

/** Share of records read again, and of their bodies until they are uploaded. */
const REREAD_SHARE = 0.15;

/** Share of the pool's idle buffers. */
const IDLE_SHARE = 1 / 8;
const MAX_IDLE_BYTES = 8 * 1024 * 1024;

/** Memory of an item beside its bytes: its objects, and garbage until the next collection. */
const ITEM_OVERHEAD_BYTES = 768;

/** Memory of items that are read again. @param bytes total size of the items */
export const memoryOfItems = (items: number, bytes: number): number =>
  bytes + items * ITEM_OVERHEAD_BYTES;

/** A holder of items that can be sealed into a batch to make room. */
export interface Sealable {
  largestBytes(): number;
  sealLargest(): void;
}

export class MemoryBudget {
  readonly totalBytes: number;
  /** Buffers of the process. Their owners count them; idle ones are counted here. */
  readonly pool: BufferPool;
  #buffered = 0;
  #sealed = 0;
  #work = 0;
  /** Bodies of records that were read again. */
  #adopted = 0;
  /** The part of the work that reads records again. */
  #rereading = 0;
  readonly #works = new Line();
  readonly #rereads = new Line();
  readonly #intakes = new Line();
  #intakesWaiting = 0;
  readonly #sealables = new Set<Sealable>();
  readonly #waiting = new Set<() => void>();

  constructor(totalBytes: number) {
    this.totalBytes = totalBytes;
    this.pool = new BufferPool(Math.min(totalBytes * IDLE_SHARE, MAX_IDLE_BYTES));
  }

  /** Bytes of all records in memory, without the pool's idle buffers. */
  get usedBytes(): number {
    return this.#buffered + this.#sealed + this.#adopted + this.#work;
  }

  get intakeFull(): boolean {
    return this.#intakeBytes >= this.totalBytes * INTAKE_SHARE;
  }

  /** True if a fetched batch may be taken at once: not while others wait in `intakeSlot`. */
  get mayTake(): boolean {
    return !this.intakeFull && this.#intakesWaiting === 0;
  }

  register(sealable: Sealable): () => void {
    this.#sealables.add(sealable);
    return () => this.#sealables.delete(sealable);
  }

  /** Adds to the buffers; may exceed the share by the items of one fetched batch. */
  buffer(bytes: number): void {
    this.#buffered += bytes;
    if (this.intakeFull) this.relieve();
  }

  /** Takes out a discarded buffer. */
  unbuffer(bytes: number): void {
    this.#buffered -= bytes;
    this.#wake();
  }

  /** Moves buffered bytes to a sealed batch, which gives them back with `unseal`. */
  seal(bytes: number): void {
    this.#buffered -= bytes;
    this.#sealed += bytes;
  }

  unseal(bytes: number): void {
    this.#sealed -= bytes;
    this.#wake();
  }

  /** Adds a body of records that were read again; a negative change gives it back. */
  adopt(change: number): void {
    this.#adopted += change;
    if (change < 0) this.#wake();
  }

  /** Makes room for intake: seals the largest buffer, unless sealed batches will make room. */
  relieve(): void {
    if (this.#sealed > (this.totalBytes * INTAKE_SHARE) / 2) return;
    let largest: Sealable | undefined;
    for (const one of this.#sealables)
      if (one.largestBytes() > (largest?.largestBytes() ?? 0)) largest = one;
    largest?.sealLargest();
  }

  /**
   * Resolves when intake has room, for one caller at a time in the order of the calls: all at once
   * would each bring a batch.
   * @returns a function that admits the next caller, to be called once the batch was taken. @throws the signal's reason
   */
  async intakeSlot(signal: AbortSignal): Promise<() => void> {
    this.#intakesWaiting++;
    let leave: (() => void) | undefined;
    const over = () => {
      this.#intakesWaiting--;
      leave?.();
    };
    try {
      leave = await this.#intakes.enter(signal);
      while (this.intakeFull) {
        this.relieve();
        // Sealing may free memory at once.
        if (this.intakeFull) await this.#freed(signal);
      }
      signal.throwIfAborted();
    } catch (error) {
      over();
      throw error;
    }
    return over;
  }

  /**
   * Reserves memory for settling or rereading. One reservation is always granted, however large, so
   * that work continues. @returns a function that releases it. @throws the signal's reason
   */
  work(wanted: number, signal: AbortSignal): Promise<() => void> {
    // Fractions would leave a remainder when they are given back.
    const bytes = Math.ceil(wanted);
    const hasRoom = () => this.#work === 0 || this.#work + bytes <= this.#roomForWork;
    return this.#reserve(this.#works, signal, hasRoom, (sign) => {
      this.#work += sign * bytes;
    });
  }

  /** Memory that one run over the source should not exceed. */
  get rereadBytes(): number {
    return this.totalBytes * REREAD_SHARE;
  }

  /**
   * Reserves memory for records that are read again, while there is room for them beside the bodies
   * of those read before: with a slow service the bodies would pile up. One is always granted.
   * @returns what gives it back. @throws the signal's reason
   */
  async reread(wanted: number, signal: AbortSignal): Promise<() => void> {
    const bytes = Math.ceil(wanted);
    const hasRoom = () => {
      const taken = this.#rereading + this.#adopted;
      return taken === 0 || taken + bytes <= this.rereadBytes;
    };
    const over = await this.#reserve(this.#rereads, signal, hasRoom, (sign) => {
      this.#rereading += sign * bytes;
    });
    try {
      const release = await this.work(bytes, signal);
      return () => {
        over();
        release();
      };
    } catch (error) {
      over();
      throw error;
    }
  }

  /** Reserves memory in line: many small reservations must not starve a large one. */
  async #reserve(
    line: Line,
    signal: AbortSignal,
    hasRoom: () => boolean,
    change: (sign: 1 | -1) => void,
  ): Promise<() => void> {
    const leave = await line.enter(signal);
    try {
      while (!hasRoom()) await this.#freed(signal);
      signal.throwIfAborted();
      change(1);
    } finally {
      leave();
    }
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      change(-1);
      this.#wake();
    };
  }

  get #intakeBytes(): number {
    return this.#buffered + this.#sealed + this.pool.idleBytes;
  }

  get #roomForWork(): number {
    return (
      Math.max(this.totalBytes * (1 - INTAKE_SHARE), this.totalBytes - this.#intakeBytes) -
      this.#adopted
    );
  }

  async #freed(signal: AbortSignal): Promise<void> {
    const freed = Promise.withResolvers<void>();
    this.#waiting.add(freed.resolve);
    try {
      await abortable(freed.promise, signal);
    } finally {
      this.#waiting.delete(freed.resolve);
    }
  }

  #wake(): void {
    for (const done of [...this.#waiting]) done();
  }
}

/** Memory of one batch on its way to the service. */
export class BatchMemory {
  readonly #count: (change: number) => void;
  #bytes: number;
  #encoded: (() => void) | undefined;

  /**
   * @param count takes each change
   * @param bytes memory that is counted already
   * @param encoded called once, when the rows are a body
   */
  constructor(count: (change: number) => void, bytes: number, encoded?: () => void) {
    this.#count = count;
    this.#bytes = bytes;
    this.#encoded = encoded;
  }

  resize(bytes: number): void {
    this.#count(bytes - this.#bytes);
    this.#bytes = bytes;
    this.#encoded?.();
    this.#encoded = undefined;
  }

  /** Repeatable. */
  release(): void {
    this.resize(0);
  }
}

/** Queue that lets in one caller at a time, in the order of the calls. */
class Line {
  #last: Promise<void> = Promise.resolve();

  /** @returns a function that admits the next caller. @throws the signal's reason; the order of the others stays */
  async enter(signal: AbortSignal): Promise<() => void> {
    const before = this.#last;
    const slot = Promise.withResolvers<void>();
    this.#last = slot.promise;
    const leave = () => void before.then(slot.resolve);
    try {
      await abortable(before, signal);
    } catch (error) {
      leave();
      throw error;
    }
    return leave;
  }
}
