/**
 * Output order of a shard under `output.order: source`: a batch publishes only after every batch of
 * its partitions that was submitted before it has published all its records, including those
 * submitted again. The order is that of the journal, so a restart keeps it. Batches of one type are
 * journaled in the order in which they were sealed; batches of different types have no order before
 * they are journaled.
 *
 * The earliest live line waits for no other, so there is always one that can proceed.
 */
import { abortable } from '../../base/abortable.ts';
import type { LiveJob } from '../../core/journal/job.ts';
import type { ShardJournal, ShardLife } from '../context/shard-context.ts';
import type { Place } from '../context/submission.ts';

export class OutputOrder {
  readonly #shard: ShardLife & Pick<ShardJournal, 'state'>;
  readonly #enabled: boolean;
  readonly #waiting = new Set<() => void>();
  /** Per type: settles when the batch sealed last is in the journal or will never be. */
  readonly #sealed = new Map<string, Promise<void>>();

  constructor(shard: ShardLife & Pick<ShardJournal, 'state'>) {
    this.#shard = shard;
    this.#enabled = shard.options.output.order === 'source';
    shard.signal.addEventListener('abort', () => this.moved(), { once: true });
  }

  /**
   * Resolves when the job may publish. The caller must hold nothing that an earlier job could need:
   * no permit, no memory.
   * @returns whether it had to wait: then the status of the job may be outdated
   * @throws the reason of the shard's end
   */
  async reached(job: LiveJob): Promise<boolean> {
    const { signal, state, waits } = this.#shard;
    const mustWait = () => this.#enabled && state.isBehind(job);
    if (!mustWait()) return false;
    const wait = async () => {
      while (mustWait()) {
        // Before the wait: one that begins after the shard's end would never end.
        signal.throwIfAborted();
        await new Promise<void>((resolve) => this.#waiting.add(resolve));
      }
      signal.throwIfAborted();
    };
    await waits.while('order', wait());
    return true;
  }

  /** Lets waiting jobs look again: a job has nothing left of a partition. */
  moved(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const look of waiting) look();
  }

  /** Puts a sealed batch in line behind those of its type; called in the order of sealing. */
  enter(type: string): Place {
    if (!this.#enabled) return { reached: () => Promise.resolve(), leave: () => undefined };
    const before = this.#sealed.get(type) ?? Promise.resolve();
    const journaled = Promise.withResolvers<void>();
    this.#sealed.set(type, journaled.promise);
    return { reached: () => abortable(before, this.#shard.signal), leave: journaled.resolve };
  }
}
