/** Waits of one shard, each with its reason (I8). */
import type { WaitReason, WaitReasons } from './wait-reasons.ts';

type Limit = <T>(run: () => Promise<T>) => Promise<T>;

export class ShardWaits<Name extends string = string> {
  readonly #waits: WaitReasons;
  readonly #who: string;
  readonly #limits: Readonly<Record<Name, Limit>>;
  readonly #signal: AbortSignal;

  constructor(
    waits: WaitReasons,
    shard: number,
    limits: Readonly<Record<Name, Limit>>,
    signal: AbortSignal,
  ) {
    this.#waits = waits;
    this.#who = `shard ${shard}`;
    this.#limits = limits;
    this.#signal = signal;
  }

  /** @param who default: the shard. @returns what ends the wait */
  begin(reason: WaitReason, who = this.#who): () => void {
    return this.#waits.begin(reason, who);
  }

  /** Settles as `work` does; the shard, or a part of it, waits until then. */
  while<T>(reason: WaitReason, work: Promise<T>, part?: string): Promise<T> {
    return this.#waits.while(reason, this.#partOf(part), work);
  }

  /** Settles as `work` does; if that takes long, the shard waits. @param atMostMs see WaitReasons */
  during<T>(reason: WaitReason, work: Promise<T>, atMostMs?: number): Promise<T> {
    return this.#waits.during(reason, this.#who, work, atMostMs);
  }

  /** Yields what `source` yields; while the next item takes long, the shard waits. */
  each<T>(reason: WaitReason, source: AsyncIterable<T>): AsyncGenerator<T, void, void> {
    return this.#waits.each(reason, this.#who, source);
  }

  /** Runs `run` within a limit of the pipeline. @throws the reason of the shard's end */
  permitted<T>(limit: Name, run: () => Promise<T>): Promise<T> {
    const who = this.#partOf(limit);
    return this.#waits.permitted('transfer', this.#limits[limit], who, this.#signal, run);
  }

  #partOf(part: string | undefined): string {
    return part === undefined ? this.#who : `${this.#who}: ${part}`;
  }
}
