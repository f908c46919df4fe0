/** Simulated process of a connector instance. It can be frozen (SIGSTOP), resumed and killed (SIGKILL) between any two steps. */
import type { Clock } from '../../../packages/client/src/base/clock.ts';
import { sleepOn } from './clock.ts';
import type { Scheduler } from './scheduler.ts';

/**
 * Timers, responses and fetched batches reach the instance only through its process. Requests sent before a freeze or
 * kill are in the network and still arrive.
 */
export class VirtualProcess implements Clock, Scheduler {
  readonly name: string;
  readonly #world: Clock & Scheduler;
  #state: 'running' | 'frozen' | 'killed' = 'running';
  readonly #held: (() => void)[] = [];
  #timers = 0;
  #stalledUntilMs = Number.NEGATIVE_INFINITY;
  /** Number of further steps before `then` is called. */
  #countdown: { steps: number; then: () => void } | undefined;

  constructor(name: string, world: Clock & Scheduler) {
    this.name = name;
    this.#world = world;
  }

  get state(): 'running' | 'frozen' | 'killed' {
    return this.#state;
  }

  /** True while frozen, and afterwards until the steps kept meanwhile have run. */
  get stalled(): boolean {
    return this.#state === 'frozen' || this.#held.length > 0;
  }

  /** End of the last stall, or the current time during a stall. In ms of the process's own clock. */
  get stalledUntilMs(): number {
    return this.stalled ? this.monotonic() : this.#stalledUntilMs;
  }

  /** Number of timers that have neither fired nor been cancelled. */
  get timers(): number {
    return this.#timers;
  }

  now(): number {
    return this.#world.now();
  }

  monotonic(): number {
    return this.#world.monotonic();
  }

  after(ms: number, fire: () => void): () => void {
    let over = false;
    this.#timers++;
    const end = () => {
      if (!over) this.#timers--;
      over = true;
    };
    const cancel = this.#world.after(ms, () => {
      this.#enter(() => {
        if (over) return;
        end();
        fire();
      });
    });
    return () => {
      end();
      cancel();
    };
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, ms, signal);
  }

  defer(channel: string, step: () => void): void {
    this.#world.defer(`${this.name}:${channel}`, () => this.#enter(step));
  }

  /** Keeps everything that reaches the instance until `thaw`. */
  freeze(): void {
    if (this.#state === 'running') this.#state = 'frozen';
  }

  /** Delivers the kept steps in order, each as a separate step, including overdue timers. */
  thaw(): void {
    if (this.#state !== 'frozen') return;
    this.#state = 'running';
    this.#release();
  }

  /** Drops everything that reaches the instance from now on. */
  kill(): void {
    this.#state = 'killed';
    this.#held.length = 0;
  }

  /**
   * Calls `then`, which may freeze or kill the process, after `steps` more steps, just before the next one. A step is
   * the code between two awaits.
   */
  afterSteps(steps: number, then: () => void): void {
    this.#countdown = { steps, then };
  }

  /** Cancels a pending `afterSteps`. */
  spare(): void {
    this.#countdown = undefined;
  }

  #enter(step: () => void): void {
    if (
      this.#state === 'running' &&
      this.#countdown !== undefined &&
      this.#countdown.steps-- <= 0
    ) {
      const { then } = this.#countdown;
      this.#countdown = undefined;
      then();
    }
    if (this.#state === 'killed') return;
    // New steps must wait while older steps wait.
    if (this.#state === 'frozen' || this.#held.length > 0) this.#held.push(step);
    else step();
  }

  #release(): void {
    this.#stalledUntilMs = this.monotonic();
    if (this.#held.length === 0) return;
    this.#world.defer(`${this.name}:thaw`, () => {
      if (this.#state !== 'running') return;
      const step = this.#held[0];
      try {
        step?.();
      } finally {
        this.#held.shift();
        this.#release();
      }
    });
  }
}
