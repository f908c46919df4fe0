/** Rereads the items of a job or batch from the source topic, and decodes them. */
import { detachedItem } from '../../core/detached.ts';
import { CoordinateSet, type LiveJob } from '../../core/journal/job.ts';
import type { ContentItem, Poison, SourceCoordinate, SourceRecord } from '../../core/record.ts';
import type { ShardContext } from '../context/shard-context.ts';
import { DECODING_SLICE_MS, decodeCost } from '../limits/memory-budget.ts';
import {
  assertSameLog,
  type FailedReread,
  readAgain,
  UnpreparedError,
  type WrittenBetween,
} from './reread.ts';

const unavailable = (message: string): Poison => ({ reason: 'source_unavailable', message });
const GONE = unavailable('the source topic no longer has this record');
const SKIPPED = unavailable('the present configuration skips this record');

/** Records to reread. */
export interface WantedItems {
  readonly type: string;
  readonly records: CoordinateSet;
  readonly written: WrittenBetween;
  /** Job to which the records belong, if any. */
  readonly from: LiveJob | undefined;
}

export interface ItemsRead {
  readonly items: ContentItem[];
  /** Records that are gone, or that cannot be read or decoded. */
  readonly failed: FailedReread[];
}

/**
 * Reads the source once for several requests.
 * @param patienceMs maximum wait for the schema registry
 * @returns the items of each request, in the order of the requests
 * @throws UnreadPartitionError, UnpreparedError, or an error that ends the shard
 */
export async function readItems<W extends WantedItems>(
  shard: ShardContext,
  all: readonly W[],
  patienceMs: number,
): Promise<(ItemsRead & { readonly wanted: W })[]> {
  const readings = all.map((wanted) => ({
    ...{ wanted, items: [] as ContentItem[], failed: [] as FailedReread[] },
    left: wanted.records.clone(),
  }));
  /** Removes a record from the remaining records of its request, and returns the reading of that request. */
  const takeReadingOf = ({ partition, offset }: SourceCoordinate) =>
    readings.find(({ left }) => left.delete(partition, offset));
  const decode = (record: SourceRecord) => {
    const reading = takeReadingOf(record);
    if (reading === undefined) return;
    const { partition, offset } = record;
    const { type, from, written } = reading.wanted;
    assertSameLog(shard.options, record, written);
    const replay = from?.replayOf(partition) ?? shard.state.partition(partition).replay;
    const decoded = shard.kind.decode(record, replay, { type });
    if ('item' in decoded) reading.items.push(detachedItem(decoded.item));
    else {
      const poison = 'poison' in decoded ? decoded.poison : SKIPPED;
      reading.failed.push({ partition, offset, poison });
    }
  };
  const wanted = CoordinateSet.of(all.flatMap(({ records }) => [...records]));
  await readAgain(shard, wanted, async (records, unreadable) => {
    await decodeAll(shard, records, patienceMs, decode);
    for (const one of unreadable) takeReadingOf(one)?.failed.push(one);
  });
  for (const { left, failed } of readings)
    for (const at of left) failed.push({ ...at, poison: GONE });
  return readings;
}

/** Decodes records. Reserves memory for records that need much, and yields to the event loop regularly. */
async function decodeAll(
  shard: ShardContext,
  records: readonly SourceRecord[],
  patienceMs: number,
  decode: (record: SourceRecord) => void,
): Promise<void> {
  const { budget, clock, kind, signal, waits } = shard;
  await prepared(shard, records, patienceMs);
  let sinceMs = clock.monotonic();
  for (const [index, record] of records.entries()) {
    const cost = decodeCost(kind, record);
    const isLate = clock.monotonic() - sinceMs >= DECODING_SLICE_MS;
    using _decoding =
      cost === 0 ? undefined : await waits.during('memory', budget.reserve('work', cost, signal));
    if (isLate) {
      await clock.sleep(0, signal);
      sinceMs = clock.monotonic();
    }
    if (isLate || cost > 0)
      await prepared(shard, cost === 0 ? records.slice(index) : [record], patienceMs);
    decode(record);
    if (cost > 0) sinceMs = -Infinity;
  }
}

/**
 * Resolves when the records can be decoded.
 * @throws UnpreparedError if that takes longer than `patienceMs`, so that a registry failure in one
 * pipeline does not occupy memory that others need; the signal's reason
 */
async function prepared(
  { clock, kind, signal, waits }: ShardContext,
  records: readonly SourceRecord[],
  patienceMs: number,
): Promise<void> {
  const loading = kind.prepare?.(records, signal);
  if (loading !== undefined) {
    const ready = waits.during('schema_registry', loading);
    const late = Promise.withResolvers<never>();
    const cancel = clock.after(patienceMs, () => late.reject(new UnpreparedError(ready)));
    await Promise.race([ready, late.promise]).finally(cancel);
  }
  signal.throwIfAborted();
}
