/** Publishes dead letters of records that are no longer in memory, by rereading them from the source. */
import { CoordinateSet, type LiveJob } from '../../core/journal/job.ts';
import { placeOf } from '../../core/record.ts';
import type { ShardContext } from '../context/shard-context.ts';
import type { DeadLetter, TerminalWriter } from '../context/terminal-writer.ts';
import { assertSameLog, readAgain, untilReadable, type WrittenBetween } from './reread.ts';
import { RereadRuns, type RereadWork } from './reread-runs.ts';

/** Records that become dead letters for the same reason. */
interface DeadLetterBatch extends Pick<DeadLetter, 'poison' | 'stage' | 'inFlight'> {
  /** Records that have no dead letter yet. */
  readonly records: CoordinateSet;
  readonly written: WrittenBetween;
  /** Job that the records leave. undefined if they are in no job. */
  readonly from: LiveJob | undefined;
}

/** Maximum memory of a run in bytes, without its chunk, and estimated memory per record. */
const MAX_BYTES = 5 * 1024 * 1024;
const BYTES_PER_RECORD = 256;

/** Queue of dead letters to publish. While they wait, only their coordinates are in memory. */
export class DeadLetterRereads {
  readonly #runs: RereadRuns<DeadLetterBatch & RereadWork>;

  constructor(shard: ShardContext, writer: TerminalWriter) {
    const { budget, options, signal } = shard;
    const { maxBytes } = options.chunk;
    this.#runs = new RereadRuns(shard, {
      what: 'dead letters',
      reserve: (bytes) => budget.reserve('work', bytes, signal),
      ...{ ownBytes: maxBytes, maxBytes: maxBytes + MAX_BYTES },
      serve: (batches) => publishOnce(shard, writer, batches),
    });
  }

  /** Publishes a dead letter for each record. If the record is gone, the dead letter has only the coordinates. */
  add({ records, ...about }: DeadLetterBatch): void {
    // Each partition is a separate request, so that an unreadable partition does not delay the others.
    for (const [partition, offsets] of records.entries())
      this.#runs.add({
        ...{ ...about, bytes: BYTES_PER_RECORD * offsets.size },
        records: CoordinateSet.fromSets([[partition, offsets.clone()]]),
      });
  }
}

/** Reads records from the source and publishes dead letters for them, one fetched piece at a time. */
export async function publishReread(
  shard: ShardContext,
  writer: TerminalWriter,
  batches: readonly DeadLetterBatch[],
): Promise<void> {
  while (batches.some(({ records }) => records.size > 0))
    await publishOnce(shard, writer, batches).catch((error) => untilReadable(shard, error));
}

/** Publishes dead letters for the remaining records. @throws UnreadPartitionError, or an error that ends the shard */
async function publishOnce(
  shard: ShardContext,
  writer: TerminalWriter,
  batches: readonly DeadLetterBatch[],
): Promise<void> {
  const due = new Map(
    batches.flatMap((batch) =>
      [...batch.records].map((at) => [placeOf(at), { ...batch, ...at }] as const),
    ),
  );
  const publish = async (letters: readonly (DeadLetterBatch & DeadLetter)[]) => {
    // Records that are in no job share transactions even if they are from different batches.
    for (const [job, some] of Map.groupBy(letters, ({ from }) => from))
      await writer.deadLetters(job, some);
    for (const one of letters) {
      due.delete(placeOf(one));
      one.records.delete(one.partition, one.offset);
    }
  };
  const wanted = CoordinateSet.of(
    [...due.values()].filter((one) => writer.mayRepeat(one, one.poison)),
  );
  await readAgain(shard, wanted, (records) =>
    publish(
      records.map((record) => {
        const one = due.get(placeOf(record)) as DeadLetterBatch & DeadLetter;
        assertSameLog(shard.options, record, one.written);
        return { ...one, record, timestampMs: record.timestampMs };
      }),
    ),
  );
  await publish([...due.values()]);
}
