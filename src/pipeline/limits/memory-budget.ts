/**
 * One byte budget for the whole process (I7): items in buffers, bodies being uploaded, chunks being settled, records read
 * again. Intake may use 70 %; settling and rewinding keep the rest, so that they can always finish.
 */
import { abortable } from '../../base/abortable.ts';
import { INTAKE_SHARE } from '../../core/batch/buffer.ts';
import { BufferPool } from '../../core/bytes/buffer-pool.ts';

/** Of the rest: records read again, and their bodies until they are uploaded. Settling has what that leaves. */
export const REREAD_SHARE = 0.15;

/** Share of the whole budget for buffers that wait for their next owner. */
const IDLE_SHARE = 1 / 8;
const MAX_IDLE_BYTES = 8 * 1024 * 1024;

/** What an item costs beside its bytes: the objects that hold it, and what the collector lets lie until its next round. */
const ITEM_OVERHEAD_BYTES = 768;

/** Memory that `items` of `bytes` in all take as objects: those that are read again. */
export const memoryOfItems = (items: number, bytes: number): number =>
  bytes + items * ITEM_OVERHEAD_BYTES;

/** Something that holds items it could seal into a batch to make room. */
export interface Sealable {
  largestBytes(): number;
  sealLargest(): void;
}

export class MemoryBudget {
  readonly totalBytes: number;
  /** Buffers of the process. Whoever takes one counts it; those that wait for an owner are counted here. */
  readonly pool: BufferPool;
  #buffered = 0;
  #sealed = 0;
  #work = 0;
  /** Bodies of records that were read again. */
  #adopted = 0;
  /** Of the work: passes that read records again. */
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

  /** Bytes of all that is held for records; buffers that wait for their next owner come on top. */
  get usedBytes(): number {
    return this.#buffered + this.#sealed + this.#adopted + this.#work;
  }

  get intakeFull(): boolean {
    return this.#intakeBytes >= this.totalBytes * INTAKE_SHARE;
  }

  /** Whether a fetched batch may be taken at once. Nobody passes those who wait in `intakeSlot`. */
  get mayTake(): boolean {
    return !this.intakeFull && this.#intakesWaiting === 0;
  }

  register(sealable: Sealable): () => void {
    this.#sealables.add(sealable);
    return () => this.#sealables.delete(sealable);
  }

  /** Buffers grew by so many bytes. May overshoot by the items of one fetched batch. */
  buffer(bytes: number): void {
    this.#buffered += bytes;
    if (this.intakeFull) this.relieve();
  }

  /** A buffer was thrown away. */
  unbuffer(bytes: number): void {
    this.#buffered -= bytes;
    this.#wake();
  }

  /** Buffered items became a batch on its way to the service; given back with `unseal`. */
  seal(bytes: number): void {
    this.#buffered -= bytes;
    this.#sealed += bytes;
  }

  unseal(bytes: number): void {
    this.#sealed -= bytes;
    this.#wake();
  }

  /** A body of records that were read again is on its way to the service; given back as a negative change. */
  adopt(change: number): void {
    this.#adopted += change;
    if (change < 0) this.#wake();
  }

  /**
   * Makes room for intake: seals the largest buffer anywhere, unless enough is on its way out already.
   */
  relieve(): void {
    if (this.#sealed > (this.totalBytes * INTAKE_SHARE) / 2) return;
    let largest: Sealable | undefined;
    for (const one of this.#sealables)
      if (one.largestBytes() > (largest?.largestBytes() ?? 0)) largest = one;
    largest?.sealLargest();
  }

  /**
   * Resolves when there is room, in the order in which it was asked for. One at a time: were all let in at once, each would
   * bring a batch.
   * @returns what lets the next in; to be called once the batch was taken. @throws the signal's reason
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
        // What it sealed may be gone at once.
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
   * Reserves memory for settling or rewinding. One such piece of work is always let through, however large, so that
   * work goes on. @returns what gives it back. @throws the signal's reason
   */
  async work(wanted: number, signal: AbortSignal): Promise<() => void> {
    // Fractions would leave something behind when they are given back.
    const bytes = Math.ceil(wanted);
    // In turn: many small pieces must not keep a large one waiting for ever.
    const leave = await this.#works.enter(signal);
    try {
      while (this.#work > 0 && this.#work + bytes > this.#roomForWork) await this.#freed(signal);
      signal.throwIfAborted();
      this.#work += bytes;
    } finally {
      leave();
    }
    return once(() => {
      this.#work -= bytes;
      this.#wake();
    });
  }

  /** What one pass over the source should not exceed. */
  get rereadBytes(): number {
    return this.totalBytes * REREAD_SHARE;
  }

  /**
   * Reserves memory for records that are read again. Only while there is room for them beside the bodies of those that were
   * read before: a service that is slower than the source would let the bodies pile up. One is always let through alone.
   * @returns what gives it back. @throws the signal's reason
   */
  async reread(wanted: number, signal: AbortSignal): Promise<() => void> {
    const bytes = Math.ceil(wanted);
    const leave = await this.#rereads.enter(signal);
    try {
      const taken = () => this.#rereading + this.#adopted;
      while (taken() > 0 && taken() + bytes > this.rereadBytes) await this.#freed(signal);
      signal.throwIfAborted();
      this.#rereading += bytes;
    } finally {
      leave();
    }
    const over = once(() => {
      this.#rereading -= bytes;
      this.#wake();
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

/** The memory of one batch on its way to the service. */
export class BatchMemory {
  readonly #count: (change: number) => void;
  #bytes: number;
  #encoded: (() => void) | undefined;

  /**
   * @param count takes what changes
   * @param bytes what is counted already
   * @param encoded is called once, when the rows are a body
   */
  constructor(count: (change: number) => void, bytes: number, encoded?: () => void) {
    this.#count = count;
    this.#bytes = bytes;
    this.#encoded = encoded;
  }

  /** The batch takes this much from now on. */
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

/** Lets in one at a time, in the order of asking. */
class Line {
  #last: Promise<void> = Promise.resolve();

  /** @returns what lets the next in. @throws the signal's reason; then the order of those behind stays as it was */
  async enter(signal: AbortSignal): Promise<() => void> {
    const before = this.#last;
    const turn = Promise.withResolvers<void>();
    this.#last = turn.promise;
    const leave = () => void before.then(turn.resolve);
    try {
      await abortable(before, signal);
    } catch (error) {
      leave();
      throw error;
    }
    return leave;
  }
}

function once(run: () => void): () => void {
  let done = false;
  return () => {
    if (done) return;
    done = true;
    run();
  };
}
