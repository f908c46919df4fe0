/**
 * Outcomes of replayed records, so that a replay whose records fail again ends early. Records go out
 * in portions, each twice as large as the one before; before the next portion the replay waits for
 * the terminal records of the last one. Without a connector none come: the wait is bounded.
 */
import { hash } from 'node:crypto';
import { type OutgoingRecord, placeOf } from '../../../core/record.ts';
import type { Inspection } from '../context.ts';
import { type OutputRange, scanTerminals, type TerminalKind } from '../outputs.ts';

const FIRST_PORTION = 100;
const MAX_PORTION = 100_000;
const WAIT_MS = 30_000;
const POLL_MS = 500;

/** Records of one portion. */
export interface ReplayOutcomes {
  readonly published: number;
  /** Decided or dead-lettered since. */
  readonly settled: number;
  /** Settled as dead letters again. */
  readonly failed: number;
}

interface Watched {
  readonly topic: string;
  /** undefined: the source. */
  readonly kind: TerminalKind | undefined;
  /** Next offsets by partition. */
  readonly next: Map<number, number>;
}

export class ReplayWatch {
  readonly #inspection: Inspection;
  readonly #stop: AbortSignal;
  #topics: readonly Watched[] = [];
  /** Places of the portion's records on the source that have no terminal record yet. */
  #waiting = new Set<string>();
  /** Number of the portion's records that were not found on the source yet, by key and value. */
  readonly #unfound = new Map<string, number>();
  #found = 0;
  #size = FIRST_PORTION / 2;
  #published = this.#size;
  #settled = 0;
  #failed = 0;

  /** @param stop ends a wait */
  constructor(inspection: Inspection, stop: AbortSignal) {
    this.#inspection = inspection;
    this.#stop = stop;
  }

  get outcomes(): ReplayOutcomes {
    return { published: this.#published, settled: this.#settled, failed: this.#failed };
  }

  published(records: readonly OutgoingRecord[]): void {
    this.#published += records.length;
    for (const record of records) this.#countUnfound(digestOf(record), 1);
  }

  /** Waits for the outcomes of a complete portion. @returns records that may go out; 0: too many failed again */
  async room(): Promise<number> {
    if (this.#published >= this.#size) {
      if (this.#topics.length > 0) await this.#wait();
      if (this.#stop.aborted || this.#isFailing()) return 0;
      await this.#begin();
    }
    return this.#size - this.#published;
  }

  async #begin(): Promise<void> {
    const { source, decisions, deadLetters } = this.#inspection.pipeline.topics;
    const watched = async (topic: string, kind?: TerminalKind): Promise<Watched> => {
      const bounds = await this.#inspection.scan.bounds(topic);
      const next = new Map([...bounds].map(([partition, { end }]) => [partition, end]));
      return { topic, kind, next };
    };
    this.#topics = [
      await watched(source),
      await watched(decisions, 'decision'),
      await watched(deadLetters, 'dead_letter'),
    ];
    this.#waiting.clear();
    this.#unfound.clear();
    this.#size = Math.min(2 * this.#size, MAX_PORTION);
    this.#found = this.#published = this.#settled = this.#failed = 0;
  }

  async #wait(): Promise<void> {
    const { clock, notice, signal } = this.#inspection;
    const untilMs = clock.monotonic() + WAIT_MS;
    for (;;) {
      await this.#read();
      const { published, settled, failed } = this.outcomes;
      if (this.#stop.aborted || settled >= published || 2 * failed > published) return;
      if (clock.monotonic() >= untilMs) {
        notice(
          `${settled} of ${published} replayed records have settled within ${WAIT_MS / 1000} s${settled === 0 ? ' (no connector may be running)' : ''}: the replay continues`,
        );
        return;
      }
      await clock.sleep(POLL_MS, this.#stop).catch(() => signal.throwIfAborted());
    }
  }

  /** Dead letters come early, decisions late: less than half of a portion proves nothing. */
  #isFailing(): boolean {
    const { published, settled, failed } = this.outcomes;
    return 2 * settled >= published && 2 * failed > settled;
  }

  /** @returns false if there are none to take away */
  #countUnfound(digest: string, by: 1 | -1): boolean {
    const count = (this.#unfound.get(digest) ?? 0) + by;
    if (count > 0) this.#unfound.set(digest, count);
    else this.#unfound.delete(digest);
    return count >= 0;
  }

  async #read(): Promise<void> {
    const { scan, signal } = this.#inspection;
    for (const { topic, kind, next } of this.#topics) {
      // The outputs are read from the beginning of the portion once all of its records are known.
      if (kind !== undefined && this.#found < this.#published) return;
      const ranges: OutputRange[] = [];
      for (const [partition, { start, stable }] of await scan.bounds(topic)) {
        const from = Math.max(start, next.get(partition) ?? start);
        if (from >= stable) continue;
        next.set(partition, stable);
        if (kind !== undefined) ranges.push({ kind, topic, partition, start, from, until: stable });
        else
          await scan.read(
            topic,
            { partition, from, until: stable },
            ({ records }) => {
              for (const record of records) {
                if (!this.#countUnfound(digestOf(record), -1)) continue;
                this.#found++;
                this.#waiting.add(placeOf(record));
              }
            },
            signal,
          );
      }
      await scanTerminals(this.#inspection, ranges, (terminal) => {
        if (!this.#waiting.delete(placeOf(terminal))) return undefined;
        this.#settled++;
        if (terminal.kind === 'dead_letter') this.#failed++;
        return undefined;
      });
    }
  }
}

/** Tells the replayed records from those of others, which may have any header. */
const digestOf = ({ key, value }: OutgoingRecord): string =>
  hash(
    'sha256',
    Buffer.concat([key, '\0', value].map((part) => Buffer.from(part ?? ''))),
    'base64',
  );
