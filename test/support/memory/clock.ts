/** Virtual time. Nothing happens until a test advances the time, and steps then run in the same order every time. */
import type { Clock, Random } from '../../../packages/client/src/base/clock.ts';
import type { Scheduler } from './scheduler.ts';
import { TimerQueue } from './timer-queue.ts';

export interface VirtualClockOptions {
  /** Initial wall clock time, ms since the epoch. */
  readonly startMs?: number;
  /**
   * Selects the channel whose next step runs (an index into `channels`). Default: the channel that became ready
   * first.
   */
  readonly choose?: (channels: readonly string[]) => number;
  /** Delay of a new step, in virtual ms. Default: none. Steps of a channel keep their order regardless. */
  readonly latencyMs?: (channel: string) => number;
}

/** Number of steps at one instant above which the code counts as a busy loop. */
const MAX_STEPS_PER_INSTANT = 1_000_000;

/** Callback of a timer that only makes time advance to a step that is not ready yet. */
const WAKE = () => {};

/** Clock and scheduler of a simulated world. Nothing else makes the world proceed. */
export class VirtualClock implements Clock, Scheduler {
  #nowMs: number;
  /** Difference between the wall clock and the elapsed time, ms. */
  #wallMs = 0;
  readonly #timers = new TimerQueue();
  readonly #channels = new Map<string, { readyMs: number; step: () => void }[]>();
  readonly #choose: (channels: readonly string[]) => number;
  readonly #latencyMs: (channel: string) => number;
  #driven = false;
  /** True if something has run since the promises last settled. */
  #stirred = true;

  constructor(options: VirtualClockOptions = {}) {
    this.#nowMs = options.startMs ?? Date.UTC(2026, 0, 1);
    this.#choose = options.choose ?? (() => 0);
    this.#latencyMs = options.latencyMs ?? (() => 0);
  }

  now(): number {
    return Math.floor(this.#nowMs + this.#wallMs);
  }

  monotonic(): number {
    return Math.floor(this.#nowMs);
  }

  /** Test control: corrects the wall clock, forward or back. Timers are not affected. */
  correct(ms: number): void {
    this.#wallMs += ms;
  }

  /** Number of timers, including those that only wake a step. */
  get timers(): number {
    return this.#timers.size;
  }

  after(ms: number, fire: () => void): () => void {
    if (Number.isNaN(ms)) throw new RangeError('a timer needs a number of milliseconds, not NaN');
    // Rounds up to whole milliseconds like the real clock, because records contain `now`.
    return this.#timers.add(this.#nowMs + Math.max(0, Math.ceil(ms)), fire);
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, ms, signal);
  }

  defer(channel: string, step: () => void): void {
    const queue = this.#channels.get(channel) ?? [];
    const readyMs = Math.max(
      this.#nowMs + Math.max(0, Math.ceil(this.#latencyMs(channel))),
      queue.at(-1)?.readyMs ?? 0,
    );
    queue.push({ readyMs, step });
    this.#channels.set(channel, queue);
    // Adds a timer, because time must advance before the step is ready.
    if (readyMs > this.#nowMs) this.#timers.add(readyMs, WAKE);
  }

  /** Advances time by `ms` and runs every timer and step due in it. Rejects with the first error of a step. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.#nowMs + ms;
    await this.#drive(async () => {
      await this.#drain(() => false);
      while (this.#fireNext(untilMs)) await this.#drain(() => false);
      this.#nowMs = untilMs;
    });
  }

  /** Runs everything that is possible without advancing time. */
  settle(): Promise<void> {
    return this.advance(0);
  }

  /**
   * Runs until `predicate` holds; it is checked after every step. Rejects after `maxVirtualMs`, or on a deadlock, when no
   * timer or step is left.
   */
  async runUntil(predicate: () => boolean, maxVirtualMs: number): Promise<void> {
    const untilMs = this.#nowMs + maxVirtualMs;
    await this.#drive(async () => {
      while (!(await this.#drain(predicate))) {
        if (this.#fireNext(untilMs)) continue;
        if (this.#timers.size === 0)
          throw new Error(
            'virtual clock: deadlock: no timer or step is left, but the condition does not hold',
          );
        throw new Error(
          `virtual clock: the condition did not hold within ${maxVirtualMs} ms of virtual time`,
        );
      }
    });
  }

  async #drive(run: () => Promise<void>): Promise<void> {
    if (this.#driven)
      throw new Error(
        'virtual clock: another call is already advancing time; await that call first',
      );
    this.#driven = true;
    this.#stirred = true;
    try {
      await run();
    } finally {
      this.#driven = false;
    }
  }

  /** Fires the earliest timer that is due by `untilMs`. Timers of one instant fire in the order of their creation. */
  #fireNext(untilMs: number): boolean {
    const timer = this.#timers.takeDue(untilMs);
    if (timer === undefined) return false;
    this.#nowMs = Math.max(this.#nowMs, timer.atMs);
    if (timer.fire !== WAKE) this.#stirred = true;
    timer.fire();
    return true;
  }

  /** Runs ready steps until none is left (returns false) or `done` holds (returns true). */
  async #drain(done: () => boolean): Promise<boolean> {
    for (let steps = 0; steps < MAX_STEPS_PER_INSTANT; steps++) {
      if (this.#stirred) await promisesToSettle();
      this.#stirred = false;
      if (done()) return true;
      const ready = this.#readyChannels();
      const channel = ready[ready.length > 1 ? this.#choose(ready) : 0];
      if (channel === undefined) {
        if (ready.length > 0)
          throw new RangeError('virtual clock: `choose` picked a channel that does not exist');
        return false;
      }
      this.#stirred = true;
      this.#takeStep(channel)();
    }
    throw new Error(
      `virtual clock: ${MAX_STEPS_PER_INSTANT} steps without advancing time: a busy loop`,
    );
  }

  #readyChannels(): string[] {
    const ready: string[] = [];
    for (const [name, queue] of this.#channels)
      if ((queue[0]?.readyMs ?? 0) <= this.#nowMs) ready.push(name);
    return ready;
  }

  #takeStep(channel: string): () => void {
    const queue = this.#channels.get(channel);
    const head = queue?.shift();
    if (head === undefined || queue === undefined)
      throw new Error(`virtual clock: channel ${channel} is empty`);
    // Moves the channel to the end, so that the default order is round robin and no channel starves.
    this.#channels.delete(channel);
    if (queue.length > 0) this.#channels.set(channel, queue);
    return head.step;
  }
}

/**
 * Waits until all promise chains have settled: microtasks run before the next turn of the event loop. Code that
 * yields by `setImmediate` appears among the active resources, so its turns are awaited too.
 */
async function promisesToSettle(): Promise<void> {
  do {
    await new Promise((resolve) => setImmediate(resolve));
  } while (process.getActiveResourcesInfo().includes('Immediate'));
}

/** `Clock.sleep` over `Clock.after`. */
export function sleepOn(
  clock: Pick<Clock, 'after'>,
  ms: number,
  signal?: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const abort = () => {
      cancel();
      reject(signal?.reason);
    };
    const cancel = clock.after(ms, () => {
      signal?.removeEventListener('abort', abort);
      resolve();
    });
    signal?.addEventListener('abort', abort, { once: true });
  });
}

/** Repeatable random numbers (mulberry32). The same seed gives the same numbers and ids. */
export class SeededRandom implements Random {
  #state: number;
  #ids = 0;
  readonly #prefix: string;

  constructor(seed: number, idPrefix = `s${seed}`) {
    this.#state = seed >>> 0;
    this.#prefix = idPrefix;
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  id(): string {
    return `${this.#prefix}-${++this.#ids}`;
  }

  /** Uniform integer in [0, below). */
  below(below: number): number {
    return Math.floor(this.next() * below);
  }
}
