/** One simulated instance of the connector: it can be frozen (SIGSTOP), thawed, and killed (SIGKILL) between any two steps. */
import type { Clock } from '../../../packages/client/src/base/clock.ts';
import { sleepOn } from './clock.ts';
import type { Scheduler } from './scheduler.ts';

/**
 * Everything that reaches the instance (timers, answers, fetched batches) passes through its process. Requests it sent
 * before it was frozen or killed are in the network and still arrive at their far side.
 */
export class VirtualProcess implements Clock, Scheduler {
  readonly name: string;
  readonly #world: Clock & Scheduler;
  #state: 'running' | 'frozen' | 'killed' = 'running';
  readonly #held: (() => void)[] = [];
  #timers = 0;
  #stalledUntilMs = Number.NEGATIVE_INFINITY;
  /** Number of more steps reach it before `then` happens. */
  #countdown: { steps: number; then: () => void } | undefined;

  constructor(name: string, world: Clock & Scheduler) {
    this.name = name;
    this.#world = world;
  }

  get state(): 'running' | 'frozen' | 'killed' {
    return this.#state;
  }

  /** Frozen, or not yet through with what came while it was. */
  get stalled(): boolean {
    return this.#state === 'frozen' || this.#held.length > 0;
  }

  /** Its own clock, ms: when it last was stalled; now, while it is. */
  get stalledUntilMs(): number {
    return this.stalled ? this.monotonic() : this.#stalledUntilMs;
  }

  /** Timers that were set and have neither fired nor been cancelled. */
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

  /** From now on nothing reaches the instance; it is kept for `thaw`. */
  freeze(): void {
    if (this.#state === 'running') this.#state = 'frozen';
  }

  /** Delivers the kept steps in order, each as its own step, overdue timers included. */
  thaw(): void {
    if (this.#state !== 'frozen') return;
    this.#state = 'running';
    this.#release();
  }

  /** Nothing reaches the instance ever again. */
  kill(): void {
    this.#state = 'killed';
    this.#held.length = 0;
  }

  /** Calls `then` (which may freeze or kill it) before the step after the next `steps`: between any two awaits of its code. */
  afterSteps(steps: number, then: () => void): void {
    this.#countdown = { steps, then };
  }

  /** Takes back what `afterSteps` announced and has not happened. */
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
    // What comes while older things still wait queues behind them.
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
