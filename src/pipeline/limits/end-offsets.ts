/** Where the source's partitions end, as lag counts it: told by each fetch, and asked for where none comes. */
import type { Clock } from '../../base/clock.ts';
import type { ClusterAdmin } from '../../core/ports/kafka.ts';
import type { Logger } from '../../core/ports/telemetry.ts';
import type { WaitReasons } from './wait-reasons.ts';

/** Partitions that nothing is fetched of: paused ones, idle ones, and those whose newest records are in an open transaction. */
const ASK_MS = 10_000;

/** Ends of some partitions, each as it was last heard of. */
export class EndOffsets {
  readonly #ends = new Map<number, { readonly offset: number; readonly heardMs: number }>();

  of(partition: number): number | undefined {
    return this.#ends.get(partition)?.offset;
  }

  /** A fetch tells what can be read: what is known to lie behind that, in open transactions, still does. */
  fetched(partition: number, endOffset: number, nowMs: number): void {
    this.#ends.set(partition, {
      offset: Math.max(endOffset, this.of(partition) ?? 0),
      heardMs: nowMs,
    });
  }

  answered(partition: number, offset: number, nowMs: number): void {
    this.#ends.set(partition, { offset, heardMs: nowMs });
  }

  isHeardSince(partition: number, atMs: number): boolean {
    return (this.#ends.get(partition)?.heardMs ?? Number.NEGATIVE_INFINITY) > atMs;
  }
}

/** Who wants to know ends: the intake of each owned shard. */
export interface EndsWanted {
  /** Partitions whose end was not heard of since. */
  endsNotHeardSince(atMs: number): readonly number[];
  /** Ends of partitions, of other shards too. */
  endsAnswered(ends: ReadonlyMap<number, number>): void;
}

/** Asks for all shards of a pipeline at once; an answer that is long in coming, or fails, holds up nobody. */
export class EndsInquiry {
  readonly #ports: { readonly admin: ClusterAdmin; readonly clock: Clock; readonly logger: Logger };
  readonly #topic: string;
  readonly #owned: () => readonly EndsWanted[];
  /** Ends of waits, by partition: those that no broker leads. */
  readonly #leaderless = new Map<number, () => void>();
  #cancel: (() => void) | undefined;
  #stopped = false;

  /** @param owned is asked each time who wants to know */
  constructor(
    ports: { readonly admin: ClusterAdmin; readonly clock: Clock; readonly logger: Logger },
    topic: string,
    owned: () => readonly EndsWanted[],
  ) {
    this.#ports = ports;
    this.#topic = topic;
    this.#owned = owned;
  }

  start(waits: WaitReasons): void {
    if (!this.#stopped) this.#cancel = this.#ports.clock.after(ASK_MS, () => void this.#ask(waits));
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel?.();
    this.#waitForLeaders([]);
  }

  async #ask(waits: WaitReasons): Promise<void> {
    const { admin, clock, logger } = this.#ports;
    const partitions = this.#owned().flatMap((one) =>
      one.endsNotHeardSince(clock.monotonic() - ASK_MS),
    );
    try {
      const ends =
        partitions.length === 0
          ? new Map<number, number>()
          : await admin.ends(this.#topic, partitions);
      // Whoever owns a partition now: an end is the same for all.
      for (const one of this.#owned()) one.endsAnswered(ends);
      this.#waitForLeaders(
        partitions.filter((partition) => !ends.has(partition)),
        waits,
      );
    } catch (error) {
      if (!this.#stopped)
        logger.debug(
          { error: String(error) },
          'could not ask where the source ends; asking again later',
        );
    }
    this.start(waits);
  }

  /** Partitions without a leader cannot be read: their wait is shown until they have one. */
  #waitForLeaders(partitions: readonly number[], waits?: WaitReasons): void {
    for (const [partition, end] of this.#leaderless) {
      if (partitions.includes(partition)) continue;
      end();
      this.#leaderless.delete(partition);
    }
    if (this.#stopped || waits === undefined) return;
    for (const partition of partitions) {
      if (!this.#leaderless.has(partition))
        this.#leaderless.set(
          partition,
          waits.begin('no_leader', `partition ${partition} of ${this.#topic}`),
        );
    }
  }
}
