/**
 * One byte budget for the whole process (I7): items in buffers, bodies being uploaded, chunks being settled, records read again. Intake may use 70 %; settling and rewinding keep the rest, so that they can always finish.
 */
export const INTAKE_SHARE = 0.7;

/** What an item costs beside its bytes: the objects that hold it, and what the collector lets lie until its next round. */
const ITEM_OVERHEAD_BYTES = 768;

/** Memory that `items` of `bytes` in all are counted with. */
export const memoryOfItems = (items: number, bytes: number): number => bytes + items * ITEM_OVERHEAD_BYTES;

/** Something that holds items it could seal into a batch to make room. */
export interface Sealable {
  largestBytes(): number;
  sealLargest(): void;
}

export class MemoryBudget {
  readonly totalBytes: number;
  #buffered = 0;
  #sealed = 0;
  #work = 0;
  #lastWork: Promise<void> = Promise.resolve();
  #lastIntake: Promise<void> = Promise.resolve();
  #intakesWaiting = 0;
  readonly #sealables = new Set<Sealable>();
  readonly #waiting = new Set<() => void>();

  constructor(totalBytes: number) {
    this.totalBytes = totalBytes;
  }

  get usedBytes(): number {
    return this.#buffered + this.#sealed + this.#work;
  }

  get intakeFull(): boolean {
    return this.#buffered + this.#sealed >= this.totalBytes * INTAKE_SHARE;
  }

  /** Whether a fetched batch may be taken at once. Nobody passes those who wait in `intakeTurn`. */
  get mayTake(): boolean {
    return !this.intakeFull && this.#intakesWaiting === 0;
  }

  register(sealable: Sealable): () => void {
    this.#sealables.add(sealable);
    return () => this.#sealables.delete(sealable);
  }

  /** Items were put into a buffer. May overshoot by the items of one fetched batch. */
  buffer(bytes: number): void {
    this.#buffered += bytes;
    if (this.intakeFull) this.relieve();
  }

  /** A buffer was thrown away. */
  unbuffer(bytes: number): void {
    this.#buffered -= bytes;
    this.#wake();
  }

  /** Buffered items became a batch on its way to the service; `release` it with `unseal`. */
  seal(bytes: number): void {
    this.#buffered -= bytes;
    this.#sealed += bytes;
  }

  /** A body that was read again waits for its upload: it counts as a batch on its way from now on. */
  adopt(bytes: number): void {
    this.#sealed += bytes;
  }

  unseal(bytes: number): void {
    this.#sealed -= bytes;
    this.#wake();
  }

  /**
   * Makes room for intake: seals the largest buffer anywhere, unless enough is on its way out already.
   */
  relieve(): void {
    if (this.#sealed > (this.totalBytes * INTAKE_SHARE) / 2) return;
    let largest: Sealable | undefined;
    for (const one of this.#sealables) if (one.largestBytes() > (largest?.largestBytes() ?? 0)) largest = one;
    largest?.sealLargest();
  }

  /**
   * Resolves when there is room, in the order in which it was asked for. One at a time: were all let in at once, each would
   * bring a batch.
   * @returns what lets the next in; to be called once the batch was taken. @throws the signal's reason
   */
  async intakeTurn(signal: AbortSignal): Promise<() => void> {
    const before = this.#lastIntake;
    const turn = Promise.withResolvers<void>();
    this.#lastIntake = turn.promise;
    this.#intakesWaiting++;
    try {
      await unlessAborted(before, signal);
      while (this.intakeFull) {
        this.relieve();
        await this.#freed(signal);
      }
      signal.throwIfAborted();
    } catch (error) {
      this.#intakesWaiting--;
      void before.then(turn.resolve);
      throw error;
    }
    return () => {
      this.#intakesWaiting--;
      turn.resolve();
    };
  }

  /**
   * Reserves memory for settling or rewinding. One such piece of work is always let through, however large, so that
   * work goes on. @returns what gives it back; call it once.
   */
  async work(wanted: number, signal: AbortSignal): Promise<() => void> {
    // Fractions would leave something behind when they are given back.
    const bytes = Math.ceil(wanted);
    const before = this.#lastWork;
    const turn = Promise.withResolvers<void>();
    this.#lastWork = turn.promise;
    try {
      // In turn: many small pieces must not keep a large one waiting for ever.
      await unlessAborted(before, signal);
      while (this.#work > 0 && this.#work + bytes > this.#roomForWork) await this.#freed(signal);
      signal.throwIfAborted();
      this.#work += bytes;
    } finally {
      // Who gives up in the queue leaves the order of those behind it as it was.
      void before.then(turn.resolve);
    }
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#work -= bytes;
      this.#wake();
    };
  }

  get #roomForWork(): number {
    return Math.max(this.totalBytes * (1 - INTAKE_SHARE), this.totalBytes - this.#buffered - this.#sealed);
  }

  async #freed(signal: AbortSignal): Promise<void> {
    const freed = Promise.withResolvers<void>();
    this.#waiting.add(freed.resolve);
    try {
      await unlessAborted(freed.promise, signal);
    } finally {
      this.#waiting.delete(freed.resolve);
    }
  }

  #wake(): void {
    for (const done of [...this.#waiting]) done();
  }
}

/** @throws the signal's reason, as soon as there is one */
async function unlessAborted(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
