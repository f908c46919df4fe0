/** Dead letters of records that are no longer in memory: reads them from the source topic again. */
import type { LiveJob } from '../../core/journal/job.ts';
import { CoordinateSet } from '../../core/journal/job.ts';
import { UnreadPartitionError } from '../../core/ports/kafka.ts';
import { placeOf } from '../../core/record.ts';
import type { ShardLife, SourceAccess } from '../context/shard-context.ts';
import type { DeadLetter, TerminalWriter } from '../publish/terminal-writer.ts';
import { assertSameLog, awaitUnread, readAgain, type WrittenBetween } from './reread.ts';

/** Records that end as dead letters for one reason. */
interface DeadLetterBatch extends Pick<DeadLetter, 'poison' | 'stage' | 'inFlight'> {
  /** Those without a dead letter yet. */
  readonly records: CoordinateSet;
  readonly written: WrittenBetween;
  /** The job that the records leave; undefined while they are in none. */
  readonly from: LiveJob | undefined;
}

/** Records that one run reads: some hundred bytes each. */
const MAX_RECORDS = 20_000;
const BYTES_PER_RECORD = 256;

/** One run over the source at a time serves all batches. Waiting batches hold only coordinates. */
export class DeadLetterRereads {
  readonly #shard: ShardLife & SourceAccess;
  readonly #writer: TerminalWriter;
  /** Each with records of one partition, so that one that cannot be read delays no other. */
  #waiting: DeadLetterBatch[] = [];
  readonly #start: () => void;

  constructor(shard: ShardLife & SourceAccess, writer: TerminalWriter) {
    this.#shard = shard;
    this.#writer = writer;
    const hasWork = () => this.#waiting.length > 0;
    this.#start = shard.repeating('dead letters', hasWork, () => this.#run());
  }

  /** Ends each record as a dead letter; if it is gone from the source, with its coordinates alone. */
  add({ records, ...about }: DeadLetterBatch): void {
    for (const [partition, offsets] of records.entries())
      this.#waiting.push({
        ...about,
        records: CoordinateSet.fromSets([[partition, offsets.clone()]]),
      });
    this.#start();
  }

  async #run(): Promise<void> {
    const { budget, options, signal, spawn, waits } = this.#shard;
    const served: DeadLetterBatch[] = [];
    let count = 0;
    for (const batch of this.#waiting) {
      if (count > 0 && count + batch.records.size > MAX_RECORDS) break;
      count += batch.records.size;
      served.push(batch);
    }
    this.#waiting = this.#waiting.slice(served.length);
    const bytes = options.chunk.maxBytes + count * BYTES_PER_RECORD;
    using _lease = await waits.during('memory', budget.reserve('work', bytes, signal));
    try {
      await publishOnce(this.#shard, this.#writer, served);
    } catch (error) {
      if (!(error instanceof UnreadPartitionError)) throw error;
      const isUnread = ({ records }: DeadLetterBatch) => records.hasPartition(error.partition);
      const left = served.filter(({ records }) => records.size > 0);
      const unread = left.filter(isUnread);
      this.#waiting.push(...left.filter((batch) => !isUnread(batch)));
      spawn('dead letters', async () => {
        await awaitUnread(this.#shard, error);
        for (const batch of unread) this.add(batch);
      });
    }
  }
}

/** Publishes dead letters with the records as the source topic has them, one fetched part at a time. */
export async function publishReread(
  shard: ShardLife & SourceAccess,
  writer: TerminalWriter,
  batches: readonly DeadLetterBatch[],
): Promise<void> {
  for (;;) {
    try {
      return await publishOnce(shard, writer, batches);
    } catch (error) {
      if (!(error instanceof UnreadPartitionError)) throw error;
      await awaitUnread(shard, error);
    }
  }
}

/** Publishes what is left of the batches. @throws UnreadPartitionError; what ends the shard */
async function publishOnce(
  shard: ShardLife & SourceAccess,
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
