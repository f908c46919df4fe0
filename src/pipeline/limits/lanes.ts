/**
 * Lanes of a pipeline: classes of content that share memory, encoding and uploads. Each lane has a
 * share of them and may use what the others leave idle, so that urgent content never waits for a
 * backlog by more than the batches that are in progress.
 */
import type { LimitFunction } from 'p-limit';

/** Name of the lane of the content that no configured lane matches. */
export const DEFAULT_LANE = 'default';

export class Lane {
  readonly name: string;
  /** Guaranteed part of the memory of intake and of the turns, from 0 to 1. */
  readonly share: number;
  /** Age of an event by which its decision is due, ms. */
  readonly ageMs: number;
  /** Memory of intake that batches of this lane occupy in this process, bytes. */
  heldBytes = 0;

  constructor(name: string, share: number, ageMs: number) {
    this.name = name;
    this.share = share;
    this.ageMs = ageMs;
  }
}

/** Lanes by name. */
export type LaneOptions = Readonly<
  Record<string, { readonly share: number; readonly ageMs?: number | undefined }>
>;

export class Lanes {
  readonly #byName: ReadonlyMap<string, Lane>;
  readonly #default: Lane;

  /**
   * @param options the configured lanes; the default lane has the rest of the shares
   * @param ageMs objective of lanes without their own
   */
  constructor(options: LaneOptions, ageMs: number) {
    const lanes = Object.entries(options).map(
      ([name, lane]) => new Lane(name, lane.share, lane.ageMs ?? ageMs),
    );
    const rest = lanes.reduce((left, { share }) => left - share, 1);
    this.#default = new Lane(DEFAULT_LANE, rest, ageMs);
    this.#byName = new Map(lanes.map((lane) => [lane.name, lane]));
  }

  /** True if there is a lane in addition to the default one. */
  get areSeveral(): boolean {
    return this.#byName.size > 0;
  }

  /** Lanes in the order of the configuration, the default lane last. */
  get all(): readonly Lane[] {
    return [...this.#byName.values(), this.#default];
  }

  /** Returns the lane of that name; a job may name a lane that is no longer configured. */
  named(name: string | undefined): Lane {
    return (name === undefined ? undefined : this.#byName.get(name)) ?? this.#default;
  }
}

/** A limit whose tasks take turns by rank. @param ready resolves before the next task is chosen */
export function inTurn(limit: LimitFunction, ready?: () => Promise<void>) {
  const turns = new Turns(limit, ready);
  return <T>(task: () => Promise<T>, rank: Rank = UNRANKED): Promise<T> => turns.run(rank, task);
}

/** Rank of a task among those that wait for a turn. */
export interface Rank {
  readonly lane: Lane;
  /** Retries go before new batches of their lane. */
  readonly isRetry: boolean;
}

const UNRANKED: Rank = { lane: new Lane(DEFAULT_LANE, 1, Infinity), isRetry: false };

interface WaitingTask extends Rank {
  start(): void;
  readonly ended: Promise<void>;
}

/**
 * Limit on concurrent tasks. A free turn goes to the waiting lane that uses the least of its share,
 * and within a lane to the oldest retry, then to the oldest new batch.
 */
class Turns {
  readonly #limit: LimitFunction;
  readonly #ready: (() => Promise<void>) | undefined;
  readonly #waiting = new Set<WaitingTask>();
  readonly #running = new Map<Lane, number>();

  constructor(limit: LimitFunction, ready: (() => Promise<void>) | undefined) {
    this.#limit = limit;
    this.#ready = ready;
  }

  /** Settles as `task` does, which starts when its turn comes. */
  async run<T>(rank: Rank, task: () => Promise<T>): Promise<T> {
    const { lane } = rank;
    const turn = Promise.withResolvers<void>();
    const end = Promise.withResolvers<void>();
    this.#waiting.add({ ...rank, start: turn.resolve, ended: end.promise });
    // Which task a slot serves is decided when the slot is free.
    void this.#limit(() => this.#serve());
    await turn.promise;
    try {
      return await task();
    } finally {
      this.#running.set(lane, this.#runningOf(lane) - 1);
      end.resolve();
    }
  }

  async #serve(): Promise<void> {
    await this.#ready?.();
    const [first, ...others] = this.#waiting;
    let next = first as WaitingTask;
    for (const task of others) if (this.#isBefore(task, next)) next = task;
    this.#waiting.delete(next);
    this.#running.set(next.lane, this.#runningOf(next.lane) + 1);
    next.start();
    await next.ended;
  }

  #isBefore(task: WaitingTask, other: WaitingTask): boolean {
    if (task.lane === other.lane) return task.isRetry && !other.isRetry;
    return this.#useOf(task.lane) < this.#useOf(other.lane);
  }

  /** Running tasks of a lane in relation to its share. */
  #useOf(lane: Lane): number {
    return this.#runningOf(lane) / lane.share;
  }

  #runningOf(lane: Lane): number {
    return this.#running.get(lane) ?? 0;
  }
}
