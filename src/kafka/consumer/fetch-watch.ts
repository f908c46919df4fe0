/**
 * Watches the fetches of a session, by partition. A partition is left out for a while if its fetch
 * fails or its position is outside the log, so that the others continue. If no fetch includes a
 * flowing partition, the watch seeks it again. If that does not help, the session ends.
 */
import type { PartitionRange } from '../../core/ports/kafka.ts';
import type { Logger } from '../../core/ports/telemetry.ts';
import { explain, protocolErrorOf, type RequestedAccess } from '../errors.ts';
import type { PartitionFetch } from '../kafkajs/partition-fetch.ts';
import { flows, type Positions, type ReadPosition } from './positions.ts';

/** Time in ms for which a partition is left out. */
const LEFT_OUT_MS = 5_000;
/** Number of checks within `maxSilenceMs` for partitions that no fetch includes. */
const CHECKS = 20;

export interface FetchWatchDeps {
  readonly positions: Positions;
  readonly logger: Logger;
  readonly access: () => RequestedAccess;
  /** Time in ms after which a session ends if no fetch has included one of its partitions. */
  readonly maxSilenceMs: number;
  /** Includes the partition in fetches or leaves it out, according to its state. */
  apply(state: ReadPosition): void;
  seek(state: ReadPosition, offset: number): void;
  range(state: ReadPosition): Promise<PartitionRange | undefined>;
  refreshMetadata(): Promise<void>;
  isLeaderless(state: ReadPosition): boolean;
  /** Reports a position outside the log. @param offset where reading resumes, or the unchanged position */
  outside(state: ReadPosition, offset: number, end: number): void;
  end(reason: string): void;
  /** Runs a callback; its error ends the session. */
  guard(run: () => void): void;
  readonly now?: () => number;
}

export class FetchWatch {
  readonly #deps: FetchWatchDeps;
  readonly #now: () => number;
  /** Time of the last fetch that returned, for any partition. */
  #returnedMs = -Infinity;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(deps: FetchWatchDeps) {
    this.#deps = deps;
    this.#now = deps.now ?? (() => performance.now());
  }

  start(): void {
    const { guard, maxSilenceMs } = this.#deps;
    const check = () => guard(() => this.check());
    this.#timer = setInterval(check, maxSilenceMs / CHECKS).unref();
  }

  stop(): void {
    this.#stopped = true;
    clearInterval(this.#timer);
  }

  /** Processes the partitions of a fetch that has returned. */
  fetched(fetches: readonly PartitionFetch[]): void {
    const nowMs = this.#now();
    this.#returnedMs = nowMs;
    for (const { topic, partition, fetchOffset, failure } of fetches) {
      const state = this.#deps.positions.byTopic(topic, partition);
      if (state === undefined) continue;
      state.fetchedMs = nowMs;
      if (!flows(state) || fetchOffset !== state.position) continue;
      if (failure === undefined) this.#recovered(state);
      else if (protocolErrorOf(failure) === 'OFFSET_OUT_OF_RANGE') void this.#outOfRange(state);
      else this.#failed(state, explain(failure, this.#deps.access()));
    }
  }

  /** Looks for flowing partitions that are not fetched. */
  check(): void {
    const { positions, isLeaderless, maxSilenceMs, end } = this.#deps;
    const nowMs = this.#now();
    for (const state of positions) {
      // A partition without a leader cannot be fetched.
      if (!flows(state) || isLeaderless(state)) {
        state.fetchedMs = undefined;
        continue;
      }
      state.fetchedMs ??= nowMs;
      // If no fetch returns at all, silence of the group or a request timeout ends the session instead.
      const silentMs = this.#returnedMs - state.fetchedMs;
      if (silentMs < maxSilenceMs / 2) continue;
      const what = `no fetch has included it for ${Math.round(silentMs)} ms`;
      if (silentMs >= maxSilenceMs) {
        const { topic, partition, position } = state;
        end(`partition ${partition} of ${topic}, offset ${position}: ${what}`);
        return;
      }
      this.#revive(state, what);
    }
  }

  /** Seeks a partition that is no longer fetched, and looks up its leader again. */
  #revive(state: ReadPosition, what: string): void {
    const { refreshMetadata, seek } = this.#deps;
    if (state.trouble === undefined) this.#report(state, what);
    refreshMetadata().catch(() => undefined);
    seek(state, state.position as number);
  }

  #failed(state: ReadPosition, error: string): void {
    this.#report(state, error);
    this.#leaveOut(state);
  }

  #report(state: ReadPosition, error: string): void {
    const { topic, partition, position: offset, trouble } = state;
    state.trouble = error;
    // The same failure recurs every few seconds, but is logged once.
    if (trouble === error) return;
    const about = { topic, partition, offset, error };
    this.#deps.logger.warn(
      about,
      'partition cannot be read: leaving it out of fetches, and retrying',
    );
  }

  #recovered(state: ReadPosition): void {
    if (state.trouble === undefined) return;
    state.trouble = undefined;
    const { topic, partition, position: offset } = state;
    this.#deps.logger.info({ topic, partition, offset }, 'partition can be read again');
  }

  #leaveOut(state: ReadPosition): void {
    const { apply, guard, refreshMetadata } = this.#deps;
    const isCurrent = this.#currentAt(state);
    const untilMs = this.#now() + LEFT_OUT_MS;
    state.leftOutUntilMs = untilMs;
    apply(state);
    const retry = async () => {
      // The partition may have another leader now.
      await refreshMetadata().catch(() => undefined);
      guard(() => {
        if (!isCurrent() || state.leftOutUntilMs !== untilMs) return;
        state.leftOutUntilMs = undefined;
        apply(state);
      });
    };
    setTimeout(() => void retry(), LEFT_OUT_MS).unref();
  }

  /**
   * Handles a position outside the log. If it is below the start, reading resumes at the start. If
   * it is above the end, reading stops until the position is set again. Commits nothing.
   */
  async #outOfRange(state: ReadPosition): Promise<void> {
    const { guard, logger, outside, range, seek } = this.#deps;
    const isCurrent = this.#currentAt(state);
    const position = state.position as number;
    this.#leaveOut(state);
    let found: PartitionRange | undefined;
    try {
      found = await range(state);
    } catch (error) {
      guard(() => {
        if (isCurrent()) this.#report(state, explain(error, this.#deps.access()));
      });
      return;
    }
    guard(() => {
      if (!isCurrent() || found === undefined) return;
      const { topic, partition } = state;
      const { start, end } = found;
      const below = position < start;
      logger.error(
        { topic, partition, position, start, end },
        below
          ? 'records were deleted before they were read (retention): resuming at the start of the log'
          : 'the position is beyond the end of the log: was the topic created again?',
      );
      if (below) seek(state, start);
      outside(state, below ? start : position, end);
    });
  }

  /** Returns a function that is true as long as the session still reads the partition at this position. */
  #currentAt(state: ReadPosition): () => boolean {
    const { positions } = this.#deps;
    const { topic, partition, position } = state;
    return () =>
      !this.#stopped &&
      state.position === position &&
      positions.byTopic(topic, partition) === state;
  }
}
