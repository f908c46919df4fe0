/**
 * Queue of work on records that are read from the source topic again. One run at a time serves as
 * much as memory has room for.
 */
import type { CoordinateSet } from '../../core/journal/job.ts';
import { UnreadPartitionError } from '../../core/ports/kafka.ts';
import type { Lease } from '../../core/ports/memory.ts';
import type { ShardLife, SourceAccess } from '../context/shard-context.ts';
import type { Share } from '../limits/memory-budget.ts';
import { untilReadable } from './reread.ts';

export interface RereadWork {
  /** Records that are not done yet. */
  readonly records: CoordinateSet;
  /** Memory that it takes. */
  readonly bytes: number;
}

/** Work that one run serves: each record that is read is looked up in all of it. */
const MAX_SERVED = 256;

interface Runs<W> {
  /** Name of the task. */
  readonly what: string;
  readonly share: Share;
  /** Memory of a run, unless one piece of work takes more; and what it takes beside its work. */
  readonly maxBytes: number;
  readonly ownBytes?: number;
  /** May serve a part, and leaves the other records. @param lease memory of the run */
  readonly serve: (work: readonly W[], lease: Lease) => Promise<void>;
}

export class RereadRuns<W extends RereadWork> {
  readonly #shard: ShardLife & SourceAccess;
  readonly #runs: Runs<W>;
  #waiting: W[] = [];
  readonly #start: () => void;

  constructor(shard: ShardLife & SourceAccess, runs: Runs<W>) {
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
    const { budget, signal, spawn, waits } = this.#shard;
    const { what, share, maxBytes, ownBytes = 0, serve } = this.#runs;
    const served: W[] = [];
    let bytes = ownBytes;
    for (const work of this.#waiting) {
      const isFull = served.length > 0 && bytes + work.bytes > maxBytes;
      if (isFull || served.length === MAX_SERVED) break;
      bytes += work.bytes;
      served.push(work);
    }
    this.#waiting = this.#waiting.slice(served.length);
    using lease = await waits.during('memory', budget.reserve(share, bytes, signal));
    try {
      await serve(served, lease);
    } catch (error) {
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
        this.add(...unreadable);
      });
    }
  }
}
