/**
 * Queue of records to reread from the source topic, which alone keeps content. If records will be
 * submitted (a retry, or a parked batch), they first wait for a permit of their type's breaker.
 * While they wait, their content takes no memory.
 */
import { abortable } from '../../../packages/client/src/base/abortable.ts';
import type { ItemBatch } from '../../core/item-batch.ts';
import { CoordinateSet } from '../../core/journal/job.ts';
import { attempt } from '../../core/outcome/internal-error.ts';
import type { Lease } from '../../core/ports/memory.ts';
import type { ContentItem } from '../../core/record.ts';
import type { ShardContext } from '../context/shard-context.ts';
import type { InFlightRecords } from '../limits/in-flight.ts';
import type { Lane, Rank } from '../limits/lanes.ts';
import { DECODING_SLICE_MS } from '../limits/memory-budget.ts';
import type { Permit } from '../limits/type-breakers.ts';
import type { DeadLetterRereads } from './dead-letter-rereads.ts';
import { type ItemsRead, readItems, type WantedItems } from './read-items.ts';
import { RereadRuns, type RereadWork } from './reread-runs.ts';

/** Records to reread, and how to process them. */
export interface RereadRequest extends WantedItems, RereadWork {
  /** Group of records in flight to which the records belong while they are in no job. */
  readonly inFlight: InFlightRecords | undefined;
  /** True if the records will be submitted and therefore need a permit of their type's breaker. */
  readonly submits: boolean;
  /** Rank of the records in the queue for the quota. undefined if they do not wait for it. */
  readonly quotaRank?: Rank | undefined;
  /** Bytes of memory that the records occupy while they wait for the permit. */
  readonly heldBytes: number;
  /** Receives the items. Records that are gone or cannot be decoded become dead letters instead. */
  readonly found: (
    items: readonly ContentItem[],
    permit: Permit,
    batchOf: BatchOf,
  ) => Promise<void>;
}

/**
 * Creates a batch of items. Items whose row cannot be written become dead letters. Returns
 * undefined if no items remain. @throws the reason why the shard ended
 */
type BatchOf = (items: readonly ContentItem[]) => Promise<ItemBatch | undefined>;

interface Ready extends RereadRequest {
  readonly permit: Permit;
  /** Releases the memory that the request took while it waited. */
  readonly taken: () => void;
}
type Reading = ItemsRead & { readonly wanted: Ready };

export class RereadQueue {
  readonly #shard: ShardContext;
  readonly #deadLetters: DeadLetterRereads;
  /** Returns a lease for the memory of a batch. */
  readonly #lease: () => Lease;
  readonly #runs: RereadRuns<Ready>;

  /** @param lane lane whose memory the records and their batches use; default: the memory for rereads */
  constructor(shard: ShardContext, deadLetters: DeadLetterRereads, lane?: Lane) {
    const { budget, signal } = shard;
    this.#shard = shard;
    this.#deadLetters = deadLetters;
    this.#lease = () =>
      lane === undefined ? budget.lease('reread') : budget.lease('intake', 0, undefined, lane);
    this.#runs = new RereadRuns(shard, {
      what: 'reread',
      get maxBytes() {
        return budget.rereadBytes * (lane?.share ?? 1);
      },
      reserve: (bytes) =>
        lane === undefined
          ? budget.reserve('reread', bytes, signal)
          : budget.reserveFor(lane, bytes, signal),
      isReady: ({ type, submits, permit }) =>
        !submits || (shard.control.submits && (permit === 'probe' || shard.breakers.isFree(type))),
      serve: async (requests, lease, patienceMs) => {
        for (const reading of await readItems(shard, requests, patienceMs))
          await this.#handOver(reading, lease);
      },
      // Each request needs a new permit, because the breaker may have granted its next probe in the meantime.
      again: (requests) => {
        for (const request of requests) {
          request.taken();
          this.add(request);
        }
      },
    });
  }

  add(request: RereadRequest): void {
    const { breakers, budget, control, quota, signal } = this.#shard;
    const { type, submits, heldBytes, quotaRank } = request;
    this.#shard.spawn('reread', async () => {
      // Counts towards intake's share, so that intake stops if waiting coordinates fill that share.
      using _held = budget.lease('intake', heldBytes);
      if (submits && quotaRank) await quota?.readmit(quotaRank, control.submitting());
      else if (submits) await control.submitting();
      const permit = submits ? await breakers.acquire(type, signal) : 'free';
      const { promise, resolve: taken } = Promise.withResolvers<void>();
      this.#runs.add({ ...request, permit, taken });
      await abortable(promise, signal);
    });
  }

  /** @param lease memory of the run, including room for the rows */
  async #handOver({ wanted, items, failed }: Reading, lease: Lease): Promise<void> {
    wanted.taken();
    const alike = Map.groupBy(failed, ({ poison }) => `${poison.reason} ${poison.message}`);
    for (const some of alike.values()) this.#deadLetter(wanted, some);
    this.#shard.signal.throwIfAborted();
    await wanted.found(items, wanted.permit, async (some) => {
      const batch = await this.#batchOf(wanted, some);
      if (batch === undefined) return undefined;
      lease.resize(Math.max(0, lease.bytes - batch.heldBytes));
      return batch;
    });
  }

  #deadLetter({ from, inFlight, written }: Ready, failed: ItemsRead['failed']): void {
    const [{ poison }] = failed as [ItemsRead['failed'][number]];
    const records = CoordinateSet.of(failed);
    this.#deadLetters.add({ from, inFlight, written, poison, records, stage: 'rewind' });
  }

  /** Creates a batch of items. The items stay in memory until the batch is complete. */
  async #batchOf(request: Ready, items: readonly ContentItem[]) {
    const { clock, signal } = this.#shard;
    const batch = this.#shard.openBatch(request.type, this.#lease(), request.from);
    let whole = false;
    try {
      const sinceMs = clock.monotonic();
      let sliceMs = sinceMs;
      for (const item of items) {
        const added = attempt(() => batch.add(item, sinceMs));
        if ('poison' in added) this.#deadLetter(request, [{ ...item, poison: added.poison }]);
        if (clock.monotonic() - sliceMs < DECODING_SLICE_MS) continue;
        await clock.sleep(0, signal);
        sliceMs = clock.monotonic();
      }
      whole = batch.length > 0;
      return whole ? batch : undefined;
    } finally {
      if (!whole) batch[Symbol.dispose]();
    }
  }
}
