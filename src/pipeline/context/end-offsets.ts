/**
 * End offsets of the source partitions, for the lag. Fetches report them. They are queried for
 * partitions that fetches do not report: paused or idle ones, or ones with an open transaction at
 * their end.
 */
import type { Clock } from '../../../packages/client/src/base/clock.ts';
import type { ClusterAdmin } from '../../core/ports/kafka.ts';
import type { Logger } from '../../core/ports/telemetry.ts';
import type { WaitReasons } from '../limits/wait-reasons.ts';

const INTERVAL_MS = 2_000;
/** Age below which an end is not queried again. */
const RECENT_MS = 1_000;
/** Maximum age of an end from which the lag is computed. */
export const FRESH_MS = 5_000;

interface EndOffsetsDeps {
  readonly admin: ClusterAdmin;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly waits: WaitReasons;
  readonly topic: string;
  /** Returns the partitions of the owned shards. Empty while the brokers cannot be queried. */
  readonly owned: () => readonly number[];
}

export class EndOffsets {
  readonly #deps: EndOffsetsDeps;
  readonly #ends = new Map<number, { readonly offset: number; readonly heardMs: number }>();
  readonly #leaderless: (who: readonly string[]) => void;
  #cancel: (() => void) | undefined;
  #stopped = false;

  constructor(deps: EndOffsetsDeps) {
    this.#deps = deps;
    this.#leaderless = deps.waits.holding('kafka');
  }

  /** Last reported end of the log. undefined if unknown. */
  of(partition: number): number | undefined {
    return this.#ends.get(partition)?.offset;
  }

  /** Time of the last report of the end (monotonic clock, ms). -Infinity if there was none. */
  heardMs(partition: number): number {
    return this.#ends.get(partition)?.heardMs ?? -Infinity;
  }

  /** Records the end that a fetch reported. Records of open transactions may be beyond it. */
  fetched(partition: number, endOffset: number): void {
    this.#set(partition, Math.max(endOffset, this.of(partition) ?? 0));
  }

  /** Schedules the next query, which covers all shards. A slow or failed query blocks nothing else. */
  start(): void {
    if (this.#stopped) return;
    this.#cancel = this.#deps.clock.after(INTERVAL_MS, () => void this.#query());
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel?.();
    this.#leaderless([]);
  }

  async #query(): Promise<void> {
    const { admin, clock, logger, topic, owned } = this.#deps;
    const sinceMs = clock.monotonic() - RECENT_MS;
    const partitions = owned().filter((one) => this.heardMs(one) <= sinceMs);
    try {
      const ends = partitions.length === 0 ? new Map() : await admin.ends(topic, partitions);
      for (const [partition, end] of ends) this.#set(partition, end);
      const leaderless = partitions.filter((partition) => !ends.has(partition));
      if (!this.#stopped)
        this.#leaderless(leaderless.map((partition) => `partition ${partition} of ${topic}`));
    } catch (error) {
      if (!this.#stopped)
        logger.debug(
          { error: String(error) },
          'could not query end offsets of the source; retrying',
        );
    }
    this.start();
  }

  #set(partition: number, offset: number): void {
    this.#ends.set(partition, { offset, heardMs: this.#deps.clock.monotonic() });
  }
}
