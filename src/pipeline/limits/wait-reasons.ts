/**
 * Why parts of a pipeline wait (I8): shown in health, counted in a gauge, logged when it lasts; never silent. docs/operations.md
 * tells users what each reason means.
 */
import type { Clock } from '../../base/clock.ts';
import type { WaitView } from '../../core/ports/pipeline-view.ts';
import type { Logger, Metrics } from '../../core/ports/telemetry.ts';

export type WaitReason =
  /** The memory budget is used up: intake waits for uploads. */
  | 'memory'
  /** Settling, or reading the source again, waits for its share of the memory budget. */
  | 'work_memory'
  /** Too far from the watermark to the newest record read. */
  | 'span'
  /** The service refused this connector's key (401/403). */
  | 'unauthorized'
  /** The service does not take a content type (400). */
  | 'type_rejected'
  /** Five batches of a type failed in a row. */
  | 'type_failing'
  /** The service cannot be reached, is overloaded, or does not answer. */
  | 'service_unavailable'
  /** The service answers with something that the interface does not promise. */
  | 'bad_answer'
  /** A body is on its way to the storage. */
  | 'upload'
  /** The next rows of a result file do not come. */
  | 'download'
  /** As many encodings, uploads, status requests, downloads or claims are under way as may be at once. */
  | 'permit'
  /** The schemas of records cannot be had: the registry is down, or refuses us. */
  | 'schema_registry'
  /** A batch is being encoded. */
  | 'encode'
  /** The brokers do not answer: a transaction, a question, or records to be read again. */
  | 'kafka'
  /** A source partition has no leader: the brokers that hold it are away. */
  | 'no_leader'
  /** The group has not been heard from: uploading or claiming could double another owner's work. */
  | 'membership'
  /** `output.order: source`: a batch submitted earlier is not through. */
  | 'order'
  /** The shard is being claimed. */
  | 'claim';

/** What takes no longer than this is work, not waiting. */
const LONG_MS = 5_000;
/** A wait that comes back this soon is the same one: retries and turns pause a wait for moments. */
const SAME_MS = 5_000;
/** A wait that goes on is logged again this often. */
const REMIND_MS = 300_000;
/** Waiters that a log line names. */
const NAMED = 8;

type Limit = <T>(run: () => Promise<T>) => Promise<T>;

/** One reason, from its first waiter until nobody waited for SAME_MS. */
interface Spell {
  readonly sinceMs: number;
  told: boolean;
  cancelTell: () => void;
  cancelEnd: (() => void) | undefined;
}

export class WaitReasons {
  readonly #metrics: Metrics;
  readonly #pipeline: string;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #waiting = new Map<WaitReason, Map<string, number>>();
  readonly #spells = new Map<WaitReason, Spell>();
  readonly #overdue = new Map<string, WaitReason>();

  constructor(deps: { metrics: Metrics; pipeline: string; clock: Clock; logger: Logger }) {
    this.#metrics = deps.metrics;
    this.#pipeline = deps.pipeline;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
  }

  /** `who` (a shard, a type's upload, …) waits until the returned function is called. */
  begin(reason: WaitReason, who: string): () => void {
    let all = this.#waiting.get(reason);
    if (all === undefined) {
      all = new Map();
      this.#waiting.set(reason, all);
    }
    const waiters = all;
    waiters.set(who, (waiters.get(who) ?? 0) + 1);
    this.#publish(reason);
    this.#begun(reason);
    let over = false;
    return () => {
      if (over) return;
      over = true;
      const count = (waiters.get(who) ?? 1) - 1;
      if (count === 0) waiters.delete(who);
      else waiters.set(who, count);
      this.#publish(reason);
      if (waiters.size === 0) this.#paused(reason);
    };
  }

  /** Settles as `work` does; `who` waits until then. */
  while<T>(reason: WaitReason, who: string, work: Promise<T>): Promise<T> {
    return work.finally(this.begin(reason, who));
  }

  /**
   * Settles as `work` does; while that takes long, `who` waits.
   * @param atMostMs of work that needs nobody outside: what takes longer is stuck, see `overdue`.
   */
  async during<T>(
    reason: WaitReason,
    who: string,
    work: Promise<T>,
    atMostMs?: number,
  ): Promise<T> {
    let end: (() => void) | undefined;
    const cancelLong = this.#clock.after(LONG_MS, () => {
      end = this.begin(reason, who);
    });
    const cancelStuck =
      atMostMs === undefined
        ? undefined
        : this.#clock.after(atMostMs, () => this.#overdue.set(who, reason));
    try {
      return await work;
    } finally {
      cancelLong();
      end?.();
      cancelStuck?.();
      if (atMostMs !== undefined) this.#overdue.delete(who);
    }
  }

  /** What `who` does and should have ended long ago. */
  overdue(who: string): WaitReason | undefined {
    return this.#overdue.get(who);
  }

  /** Gives what `source` gives; while the next of it is long in coming, `who` waits. */
  async *each<T>(
    reason: WaitReason,
    who: string,
    source: AsyncIterable<T>,
  ): AsyncGenerator<T, void, void> {
    const iterator = source[Symbol.asyncIterator]();
    let ended = false;
    try {
      for (;;) {
        const next = await this.during(reason, who, iterator.next());
        ended = next.done === true;
        if (next.done === true) return;
        yield next.value;
      }
    } finally {
      if (!ended) await iterator.return?.();
    }
  }

  /**
   * Runs `run` within a limit; while it is not its turn, `who` waits.
   * @throws the signal's reason if that was aborted meanwhile
   */
  async permitted<T>(
    limit: Limit,
    who: string,
    signal: AbortSignal,
    run: () => Promise<T>,
  ): Promise<T> {
    const started = Promise.withResolvers<void>();
    const start = () => started.resolve();
    signal.addEventListener('abort', start, { once: true });
    void this.during('permit', who, started.promise);
    try {
      return await limit(() => {
        start();
        signal.throwIfAborted();
        return run();
      });
    } finally {
      signal.removeEventListener('abort', start);
    }
  }

  /** Reasons in force, each with who waits. */
  current(): { reason: WaitReason; who: string[] }[] {
    return [...this.#waiting]
      .filter(([, who]) => who.size > 0)
      .map(([reason, who]) => ({ reason, who: [...who.keys()] }));
  }

  /** Reasons in force, for people: since when, how many wait, and who, `named` of them at most. */
  view(named: number): WaitView[] {
    return this.current().map(({ reason, who }) => {
      const forMs =
        this.#clock.monotonic() - (this.#spells.get(reason)?.sinceMs ?? this.#clock.monotonic());
      const sinceMs = this.#clock.now() - forMs;
      return { reason, sinceMs, waiting: who.length, who: who.slice(0, named) };
    });
  }

  #publish(reason: WaitReason): void {
    this.#metrics.set(
      'shards_paused',
      { pipeline: this.#pipeline, reason },
      this.#waiting.get(reason)?.size ?? 0,
    );
  }

  #begun(reason: WaitReason): void {
    const spell = this.#spells.get(reason);
    spell?.cancelEnd?.();
    if (spell !== undefined) spell.cancelEnd = undefined;
    else {
      const cancelTell = this.#clock.after(LONG_MS, () => this.#tell(reason));
      this.#spells.set(reason, {
        sinceMs: this.#clock.monotonic(),
        told: false,
        cancelTell,
        cancelEnd: undefined,
      });
    }
  }

  #tell(reason: WaitReason): void {
    const spell = this.#spells.get(reason);
    const who = [...(this.#waiting.get(reason)?.keys() ?? [])];
    if (spell === undefined) return;
    if (who.length > 0) {
      spell.told = true;
      this.#logger.warn(
        { reason, waiting: who.length, who: who.slice(0, NAMED), seconds: this.#secondsOf(spell) },
        'waiting',
      );
    }
    spell.cancelTell = this.#clock.after(spell.told ? REMIND_MS : SAME_MS, () =>
      this.#tell(reason),
    );
  }

  #paused(reason: WaitReason): void {
    const spell = this.#spells.get(reason);
    if (spell === undefined) return;
    spell.cancelEnd = this.#clock.after(SAME_MS, () => {
      spell.cancelTell();
      this.#spells.delete(reason);
      if (spell.told)
        this.#logger.info({ reason, seconds: this.#secondsOf(spell) }, 'no longer waiting');
    });
  }

  #secondsOf(spell: Spell): number {
    return Math.round((this.#clock.monotonic() - spell.sinceMs) / 1000);
  }
}
