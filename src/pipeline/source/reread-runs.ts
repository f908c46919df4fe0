/**
 * Queue of work on records to reread from the source topic. Runs follow one another, and each
 * serves as much of the work as fits into memory.
 */
import type { CoordinateSet } from '../../core/journal/job.ts';
import { UnreadPartitionError } from '../../core/ports/kafka.ts';
import type { Lease } from '../../core/ports/memory.ts';
import type { ShardContext } from '../context/shard-context.ts';
import { PATIENCE_MS, UnpreparedError, untilReadable } from './reread.ts';

export interface RereadWork {
  /** Records to read. Serving the work removes finished records. If none remain, the work is done. */
  readonly records: CoordinateSet;
  /** Estimated memory in bytes. */
  readonly bytes: number;
}

/** Maximum pieces of work in a run. Limited because each record that is read is looked up in all of them. */
const MAX_SERVED = 256;

interface Runs<W> {
  /** Name of the task that runs the queue. */
  readonly what: string;
  readonly reserve: (bytes: number) => Promise<Lease>;
  /** Maximum memory of a run that serves several pieces of work. */
  readonly maxBytes: number;
  readonly ownBytes?: number;
  /**
   * Serves the work, possibly only a part of it.
   * @param lease memory of the run
   * @param patienceMs maximum wait for the schema registry
   * @throws UnreadPartitionError or UnpreparedError; then `records` must still contain all
   * unfinished records
   */
  readonly serve: (work: readonly W[], lease: Lease, patienceMs: number) => Promise<void>;
  /** Returns false for work that must not be served any more after the wait for memory. Default: true. */
  readonly isReady?: (work: W) => boolean;
  /** Receives the work that was not served. Default: adds it to the queue again. */
  readonly again?: (work: readonly W[]) => void;
}

export class RereadRuns<W extends RereadWork> {
  readonly #shard: ShardContext;
  readonly #runs: Runs<W>;
  #waiting: W[] = [];
  readonly #start: () => void;
  #patienceMs = PATIENCE_MS;

  constructor(shard: ShardContext, runs: Runs<W>) {
    this.#shard = shard;
    this.#runs = runs;
    this.#start = shard.repeating(
      runs.what,
      () => this.#waiting.length > 0,
      () => this.#run(),
    );
  }

  add(...work: W[]): void {
    this.#waiting.push(...work);
    this.#start();
  }

  async #run(): Promise<void> {
    const { spawn, waits } = this.#shard;
    const { what, reserve, ownBytes = 0, serve } = this.#runs;
    const { isReady = () => true, again = (work) => this.add(...work) } = this.#runs;
    const next = this.#next();
    const bytes = next.reduce((sum, work) => sum + work.bytes, ownBytes);
    using lease = await waits.during('memory', reserve(bytes));
    const { served = [], late = [] } = Object.groupBy(next, (one) =>
      isReady(one) ? 'served' : 'late',
    );
    again(late);
    if (served.length === 0) return;
    try {
      await serve(served, lease, this.#patienceMs);
      this.#patienceMs = PATIENCE_MS;
    } catch (error) {
      if (error instanceof UnpreparedError) this.#patienceMs *= 2;
      // Work on an unreadable partition must not delay other work.
      const { unreadable = [], others = [] } = Object.groupBy(
        served.filter(({ records }) => records.size > 0),
        ({ records }) =>
          error instanceof UnreadPartitionError && !records.hasPartition(error.partition)
            ? 'others'
            : 'unreadable',
      );
      this.#waiting.push(...others);
      spawn(what, async () => {
        await untilReadable(this.#shard, error);
        again(unreadable);
      });
    }
  }

  /** Removes as much work from the queue as fits into memory, at least one piece. */
  #next(): W[] {
    const { maxBytes, ownBytes = 0 } = this.#runs;
    const next: W[] = [];
    let bytes = ownBytes;
    for (const work of this.#waiting) {
      const isFull = next.length > 0 && bytes + work.bytes > maxBytes;
      if (isFull || next.length === MAX_SERVED) break;
      bytes += work.bytes;
      next.push(work);
    }
    this.#waiting = this.#waiting.slice(next.length);
    return next;
  }
}
