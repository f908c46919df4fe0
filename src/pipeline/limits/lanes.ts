/**
 * Lanes of a pipeline: classes of content that share memory, encoding and uploads. Each lane has a
 * share of these, and may use what other lanes leave idle. Urgent content therefore never waits for
 * a whole backlog, but only for batches that are already in progress.
 */
import type { LimitFunction } from 'p-limit';

/** Name of the lane for content that no configured lane matches. */
export const DEFAULT_LANE = 'default';

export class Lane {
  readonly name: string;
  /** Guaranteed part of intake's memory and of the turns, from 0 to 1. */
  share: number;
  /** Age of an event in ms by which its decision is due. */
  ageMs: number;
  /** Bytes of intake's memory that batches of this lane occupy in this process. */
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
  readonly #default = new Lane(DEFAULT_LANE, 1, Infinity);

  /**
   * @param options the configured lanes; the default lane has the remaining share
   * @param ageMs objective of lanes that have none of their own
   */
  constructor(options: LaneOptions, ageMs: number) {
    this.#byName = new Map(Object.keys(options).map((name) => [name, new Lane(name, 0, ageMs)]));
    this.change(options, ageMs);
  }

  /** Changes shares and objectives. Takes the parameters of the constructor, with the same lanes. */
  change(options: LaneOptions, ageMs: number): void {
    const rest = Object.values(options).reduce((left, { share }) => left - share, 1);
    Object.assign(this.#default, { share: rest, ageMs });
    for (const [name, { share, ageMs: own = ageMs }] of Object.entries(options))
      Object.assign(this.named(name), { share, ageMs: own });
  }

  /** True if there is a lane in addition to the default one. */
  get areSeveral(): boolean {
    return this.#byName.size > 0;
  }

  /** Lanes in the order of the configuration, the default lane last. */
  get all(): readonly Lane[] {
    return [...this.#byName.values(), this.#default];
  }

  /** Returns the lane of that name, or the default lane, because a job may name a lane that is no longer configured. */
  named(name: string | undefined): Lane {
    return (name === undefined ? undefined : this.#byName.get(name)) ?? this.#default;
  }
}

/**
 * Chooses the next of the waiting tasks, which are given in the order of their rank. Resolves to
 * undefined if the tasks must be ranked again.
 * @throws never
 */
export type Choose = (ranked: readonly Rank[]) => Promise<Rank | undefined>;

/** Returns a limit whose tasks take turns by rank. @param choose default: the first in rank */
export function inTurn(limit: LimitFunction, choose: Choose = async ([first]) => first) {
  const turns = new Turns(limit, choose);
  return <T>(task: () => Promise<T>, rank: Rank = UNRANKED): Promise<T> => turns.run(rank, task);
}

/** Rank of a task among those that wait for a turn. */
export interface Rank {
  readonly lane: Lane;
  /** True for a retry. Retries go before new batches of their lane. */
  readonly isRetry: boolean;
  /** Size of the task in rows; only its ratio to other tasks matters. */
  readonly rows: number;
}

const UNRANKED: Rank = { lane: new Lane(DEFAULT_LANE, 1, Infinity), isRetry: false, rows: 1 };

/**
 * Limit on concurrent tasks. Start-time fair queueing divides the turns among the waiting lanes by
 * their shares. In a lane, retries go before new batches; both keep the order of the calls. No lane
 * may occupy every slot, so that another lane does not wait for the end of a long task.
 */
class Turns {
  readonly #limit: LimitFunction;
  readonly #choose: Choose;
  /** Waiting tasks, with the functions that start them and resolve when they have ended. */
  readonly #waiting = new Map<Rank, () => Promise<void>>();
  /** Virtual start time of the task that was started most recently. */
  #time = 0;
  /** Virtual end time of each lane's tasks so far. */
  readonly #ends = new Map<Lane, number>();
  /** Number of running tasks, by lane. */
  readonly #running = new Map<Lane, number>();

  constructor(limit: LimitFunction, choose: Choose) {
    this.#limit = limit;
    this.#choose = choose;
  }

  /** Runs `task` when its turn comes, and returns its result. @throws the task's error */
  async run<T>(rank: Rank, task: () => Promise<T>): Promise<T> {
    const turn = Promise.withResolvers<void>();
    const end = Promise.withResolvers<void>();
    const start = () => {
      turn.resolve();
      return end.promise;
    };
    this.#waiting.set({ ...rank }, start);
    this.#offer();
    await turn.promise;
    try {
      return await task();
    } finally {
      end.resolve();
    }
  }

  /** Offers the next free slot to the tasks that are waiting when it becomes free. */
  #offer(): void {
    void this.#limit(() => this.#serve());
  }

  async #serve(): Promise<void> {
    let next: Rank | undefined;
    let start: (() => Promise<void>) | undefined;
    // Another slot may have started the task in the meantime.
    while (next === undefined || start === undefined) {
      const ranked = this.#ranked();
      // The end of a running task offers its slot again.
      if (ranked.length === 0) return;
      next = await this.#choose(ranked);
      start = next && this.#waiting.get(next);
    }
    const { lane, rows } = next;
    this.#waiting.delete(next);
    this.#time = this.#startOf(lane);
    this.#ends.set(lane, this.#time + rows / lane.share);
    this.#running.set(lane, this.#runningOf(lane) + 1);
    await start();
    this.#running.set(lane, this.#runningOf(lane) - 1);
    if (this.#waiting.size > 0) this.#offer();
  }

  #runningOf(lane: Lane): number {
    return this.#running.get(lane) ?? 0;
  }

  /** Returns the tasks that may start, in the order of their rank. */
  #ranked(): Rank[] {
    const { concurrency } = this.#limit;
    const mayStart = ({ lane }: Rank) =>
      lane.share === 1 || this.#runningOf(lane) < Math.max(1, concurrency - 1);
    return [...this.#waiting.keys()]
      .filter(mayStart)
      .sort((one, other) =>
        one.lane === other.lane
          ? Number(other.isRetry) - Number(one.isRetry)
          : this.#startOf(one.lane) - this.#startOf(other.lane) ||
            (one.lane.name < other.lane.name ? -1 : 1),
      );
  }

  #startOf(lane: Lane): number {
    return Math.max(this.#time, this.#ends.get(lane) ?? 0);
  }
}
