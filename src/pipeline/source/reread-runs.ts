/**
 * Queue of work on records that are read from the source topic again. One run at a time serves as
 * much as memory has room for.
 */
import type { CoordinateSet } from '../../core/journal/job.ts';
import { UnreadPartitionError } from '../../core/ports/kafka.ts';
import type { Lease } from '../../core/ports/memory.ts';
import type { ShardContext } from '../context/shard-context.ts';
import { PATIENCE_MS, UnpreparedError, untilReadable } from './reread.ts';

export interface RereadWork {
  /** Records to be read; work may take out what is done. Empty: nothing is left to do. */
  readonly records: CoordinateSet;
  /** Memory that it takes. */
  readonly bytes: number;
}

/** Work that one run serves: each record that is read is looked up in all of it. */
const MAX_SERVED = 256;

interface Runs<W> {
  /** Name of the task. */
  readonly what: string;
  readonly reserve: (bytes: number) => Promise<Lease>;
  /** Memory of a run, unless one piece of work takes more; and what it takes beside its work. */
  readonly maxBytes: number;
  readonly ownBytes?: number;
  /**
   * May serve a part of the work.
   * @param lease memory of the run
   * @param patienceMs longest wait for the schema registry
   * @throws UnreadPartitionError, UnpreparedError only while `records` has all that is not done
   */
  readonly serve: (work: readonly W[], lease: Lease, patienceMs: number) => Promise<void>;
  /** False for work whose turn is over because memory came late. Default: true. */
  readonly isReady?: (work: W) => boolean;
  /** Takes back work that was not served. Default: adds it. */
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
      // Work on one partition that cannot be read must not hold up the others.
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

  /** Takes as much of the work as fits, at least one piece. */
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
