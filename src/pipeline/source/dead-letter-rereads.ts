/** Dead letters of records that are no longer in memory: reads them from the source topic again. */
import { CoordinateSet, type LiveJob } from '../../core/journal/job.ts';
import { placeOf } from '../../core/record.ts';
import type { ShardContext } from '../context/shard-context.ts';
import type { DeadLetter, TerminalWriter } from '../context/terminal-writer.ts';
import { assertSameLog, readAgain, untilReadable, type WrittenBetween } from './reread.ts';
import { RereadRuns, type RereadWork } from './reread-runs.ts';

/** Records that end as dead letters for one reason. */
interface DeadLetterBatch extends Pick<DeadLetter, 'poison' | 'stage' | 'inFlight'> {
  /** Those without a dead letter yet. */
  readonly records: CoordinateSet;
  readonly written: WrittenBetween;
  /** The job that the records leave; undefined while they are in none. */
  readonly from: LiveJob | undefined;
}

/** Memory of one run, beside its chunk, and of each record in it. */
const MAX_BYTES = 5 * 1024 * 1024;
const BYTES_PER_RECORD = 256;

/** Waiting batches hold only coordinates. */
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

  /** Ends each record as a dead letter; if it is gone from the source, with its coordinates alone. */
  add({ records, ...about }: DeadLetterBatch): void {
    // Each with records of one partition, so that one that cannot be read delays no other.
    for (const [partition, offsets] of records.entries())
      this.#runs.add({
        ...{ ...about, bytes: BYTES_PER_RECORD * offsets.size },
        records: CoordinateSet.fromSets([[partition, offsets.clone()]]),
      });
  }
}

/** Publishes dead letters with the records as the source topic has them, one fetched part at a time. */
export async function publishReread(
  shard: ShardContext,
  writer: TerminalWriter,
  batches: readonly DeadLetterBatch[],
): Promise<void> {
  while (batches.some(({ records }) => records.size > 0))
    await publishOnce(shard, writer, batches).catch((error) => untilReadable(shard, error));
}

/** Publishes what is left of the batches. @throws UnreadPartitionError; what ends the shard */
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
    // Records that are in no job share transactions, whatever batches they were sealed into.
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
