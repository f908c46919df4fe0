/**
 * Queue of records to be read again: content is kept in the source topic alone. What is submitted
 * again, or was parked, waits for the breaker of its type before it is read, and
 * holds no content meanwhile.
 */
import { detachedItem } from '../../core/batch/detached.ts';
import type { ItemBatch } from '../../core/batch/item-batch.ts';
import { CoordinateSet, type LiveJob } from '../../core/journal/job.ts';
import { attempt } from '../../core/outcome/internal-error.ts';
import type { Lease } from '../../core/ports/memory.ts';
import { type ContentItem, type Poison, placeOf, type SourceRecord } from '../../core/record.ts';
import type {
  ServiceAccess,
  ShardJournal,
  ShardLife,
  SourceAccess,
} from '../context/shard-context.ts';
import { DECODING_SLICE_MS } from '../limits/decoding.ts';
import type { InFlightRecords } from '../limits/in-flight.ts';
import type { Permit } from '../limits/type-breakers.ts';
import type { DeadLetterRereads } from './dead-letter-rereads.ts';
import { assertSameLog, readToDecode, SKIPPED, type WrittenBetween } from './reread.ts';

/** Records to be read again, and what becomes of them. */
export interface RereadRequest {
  readonly type: string;
  readonly records: () => CoordinateSet;
  readonly written: WrittenBetween;
  /** Memory that their items will take, and their body. */
  readonly bytes: number;
  /** The job that they are in, if any. */
  readonly from: LiveJob | undefined;
  /** The records in flight that they belong to while they are in no job. */
  readonly inFlight: InFlightRecords | undefined;
  /** True if they will be submitted: then they need a permit of their type's breaker. */
  readonly submits: boolean;
  /** Takes the items. Records that are gone, or do not decode, become dead letters instead. */
  readonly found: (
    items: readonly ContentItem[],
    permit: Permit,
    batchOf: BatchOf,
  ) => Promise<void>;
}

/**
 * Makes a batch of items. An item whose row cannot be written becomes a dead letter; undefined if no
 * other is left. @throws the reason of the shard's end
 */
type BatchOf = (items: readonly ContentItem[]) => Promise<ItemBatch | undefined>;

interface Ready {
  readonly request: RereadRequest;
  readonly permit: Permit;
}

interface Reading extends Ready {
  readonly records: CoordinateSet;
  /** Records not found yet. */
  readonly left: CoordinateSet;
  readonly items: ContentItem[];
  /** Poison of records that cannot be read or decoded, by `placeOf`. */
  readonly poisons: Map<string, Poison>;
}

/** Wait of requests for a partition that cannot be read: others are served meanwhile. */
const SENT_BACK_MS = 60_000;
/** Requests that one run serves: each record that is read is looked up in all of them. */
const MAX_SERVED = 256;

const GONE: Poison = {
  reason: 'source_unavailable',
  message: 'the source topic no longer has this record, so it cannot be submitted again',
};

type Shard = ShardLife & ServiceAccess & SourceAccess & Pick<ShardJournal, 'state'>;

export class RereadQueue {
  readonly #shard: Shard;
  readonly #deadLetters: DeadLetterRereads;
  readonly #ready: Ready[] = [];
  readonly #start: () => void;

  constructor(shard: Shard, deadLetters: DeadLetterRereads) {
    this.#shard = shard;
    this.#deadLetters = deadLetters;
    const hasWork = () => this.#ready.length > 0;
    this.#start = shard.repeating('reread', hasWork, () => this.#run());
  }

  add(request: RereadRequest): void {
    const { breakers, control, signal } = this.#shard;
    const { type, submits } = request;
    this.#shard.spawn('reread', async () => {
      if (submits) await control.submitting();
      const permit = submits ? await breakers.acquire(type, signal) : 'free';
      this.#ready.push({ request, permit });
      this.#start();
    });
  }

  /** Reads the source once for as many requests as memory has room for, at least one. */
  async #run(): Promise<void> {
    const { budget } = this.#shard;
    let served: Ready[] = [];
    let bytes = 0;
    for (let next = this.#ready[0]; next !== undefined; next = this.#ready[0]) {
      const isFull = served.length > 0 && bytes + next.request.bytes > budget.rereadBytes;
      if (isFull || served.length === MAX_SERVED) break;
      this.#ready.shift();
      bytes += next.request.bytes;
      served.push(next);
    }

    let readings: Reading[] = [];
    using lease = await readToDecode(this.#shard, bytes, (unread) => {
      served = served.filter((one) => this.#stillMay(one) && !this.#sendBack(one, unread));
      readings = served.map(readingOf);
      const reading = (partition: number, offset: number) =>
        readings.find(({ left }) => left.has(partition, offset));
      const wanted = new CoordinateSet();
      for (const { left } of readings)
        for (const { partition, offset } of left) wanted.add(partition, offset);
      return {
        wanted,
        found: (records, unreadable) => {
          for (const record of records)
            this.#decode(reading(record.partition, record.offset), record);
          for (const one of unreadable)
            reading(one.partition, one.offset)?.poisons.set(placeOf(one), one.poison);
        },
      };
    });
    for (const reading of readings) await this.#handOver(reading, lease);
  }

  /** @param lease memory of the run, which has room for the rows as well */
  async #handOver(reading: Reading, lease: Lease): Promise<void> {
    const { request, permit, items } = reading;
    this.#deadLetter(reading);
    this.#shard.signal.throwIfAborted();
    await request.found(items, permit, async (some) => {
      const batch = await this.#batchOf(request, some);
      if (batch === undefined) return undefined;
      lease.resize(Math.max(0, lease.bytes - batch.heldBytes));
      return batch;
    });
  }

  #deadLetter({ request, records, left, poisons }: Reading): void {
    const { from, inFlight, written } = request;
    if (left.size === 0 && poisons.size === 0) return;
    const dead = [...records].flatMap((at) => {
      const poison =
        poisons.get(placeOf(at)) ?? (left.has(at.partition, at.offset) ? GONE : undefined);
      return poison === undefined ? [] : [{ at, poison }];
    });
    const alike = Map.groupBy(dead, ({ poison }) => `${poison.reason} ${poison.message}`);
    for (const some of alike.values()) {
      const { poison } = some[0] as (typeof some)[number];
      const of = CoordinateSet.of(some.map(({ at }) => at));
      this.#deadLetters.add({ from, inFlight, written, poison, records: of, stage: 'rewind' });
    }
  }

  /** Makes a batch of items; they stay in memory until it is whole. */
  async #batchOf(request: RereadRequest, items: readonly ContentItem[]) {
    const { type, from, inFlight, written } = request;
    const { budget, clock, signal } = this.#shard;
    const batch = this.#shard.openBatch(type, budget.lease('reread'), from);
    let whole = false;
    try {
      const sinceMs = clock.monotonic();
      let sliceMs = sinceMs;
      for (const item of items) {
        const added = attempt(() => batch.add(item, sinceMs));
        if ('poison' in added) {
          const { poison } = added;
          const records = CoordinateSet.of([item]);
          this.#deadLetters.add({ from, inFlight, written, poison, records, stage: 'rewind' });
        }
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

  /** Sends a request back to wait if its type was blocked, or the pipeline paused, while memory was awaited. */
  #stillMay({ request, permit }: Ready): boolean {
    const { breakers, control } = this.#shard;
    const { type, submits } = request;
    const isFree = control.submits && (permit === 'probe' || breakers.isFree(type));
    const may = !submits || isFree;
    if (may) return true;
    this.add(request);
    return false;
  }

  /** Sends a request back to wait if it has records of a partition that cannot be read. */
  #sendBack({ request }: Ready, unread: number | undefined): boolean {
    const { clock, options, signal, waits } = this.#shard;
    if (unread === undefined || !request.records().hasPartition(unread)) return false;
    this.#shard.spawn('reread', async () => {
      const end = waits.begin('kafka', `partition ${unread} of ${options.source.topic}`);
      await clock.sleep(SENT_BACK_MS, signal).finally(end);
      this.add(request);
    });
    return true;
  }

  #decode(reading: Reading | undefined, record: SourceRecord): void {
    if (reading === undefined) return;
    const { request, left, items, poisons } = reading;
    const { partition, offset } = record;
    const { kind, options, state } = this.#shard;
    assertSameLog(options, record, request.written);
    left.delete(partition, offset);
    const replay = request.from?.replayOf(partition) ?? state.partition(partition).replay;
    const decoded = kind.decode(record, replay, { type: request.type });
    if ('item' in decoded) items.push(detachedItem(decoded.item));
    else poisons.set(placeOf(record), 'poison' in decoded ? decoded.poison : SKIPPED);
  }
}

function readingOf(ready: Ready): Reading {
  const records = ready.request.records();
  return { ...ready, records, left: records.clone(), items: [], poisons: new Map() };
}
