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
  readonly records: CoordinateSet;
  readonly written: WrittenBetween;
  /** The job that the records leave; undefined while they are in none. */
  readonly from: LiveJob | undefined;
}

/** A dead letter whose record is read again. */
interface RereadDeadLetter extends DeadLetter {
  readonly job: LiveJob | undefined;
  readonly written: WrittenBetween;
}

/** Records that one run reads: some hundred bytes each. */
const MAX_RECORDS = 20_000;
const BYTES_PER_RECORD = 256;

/** One run over the source at a time serves all batches. Waiting batches hold only coordinates. */
export class DeadLetterRereads {
  readonly #shard: ShardLife & SourceAccess;
  readonly #writer: TerminalWriter;
  readonly #waiting: DeadLetterBatch[] = [];
  readonly #start: () => void;

  constructor(shard: ShardLife & SourceAccess, writer: TerminalWriter) {
    this.#shard = shard;
    this.#writer = writer;
    const hasWork = () => this.#waiting.length > 0;
    this.#start = shard.repeating('dead letters', hasWork, () => this.#run());
  }

  /** Ends each record as a dead letter; if it is gone from the source, with its coordinates alone. */
  add(batch: DeadLetterBatch): void {
    this.#waiting.push(batch);
    this.#start();
  }

  async #run(): Promise<void> {
    const { budget, options, signal } = this.#shard;
    const served: DeadLetterBatch[] = [];
    const due: RereadDeadLetter[] = [];
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      const { records, written, from: job, poison, stage, inFlight } = next;
      if (due.length > 0 && due.length + records.size > MAX_RECORDS) break;
      this.#waiting.shift();
      served.push(next);
      for (const at of records) due.push({ ...at, poison, stage, inFlight, job, written });
    }
    const bytes = options.chunk.maxBytes + due.length * BYTES_PER_RECORD;
    const memory = budget.reserve('work', bytes, signal);
    using _lease = await this.#shard.waits.during('memory', memory);
    const left = byPlace(due);
    try {
      await publishOnce(this.#shard, this.#writer, left);
    } catch (error) {
      if (!(error instanceof UnreadPartitionError)) throw error;
      this.#sendBack(served, left, error);
    }
  }

  /** Sends records back to the queue: those of the partition that cannot be read, after a while. */
  #sendBack(
    served: readonly DeadLetterBatch[],
    left: ReadonlyMap<string, unknown>,
    error: UnreadPartitionError,
  ): void {
    const batchesOf = (isDue: (partition: number) => boolean) =>
      served.flatMap((batch) => {
        const records = [...batch.records].filter(
          (at) => left.has(placeOf(at)) && isDue(at.partition),
        );
        return records.length === 0 ? [] : [{ ...batch, records: CoordinateSet.of(records) }];
      });
    this.#waiting.push(...batchesOf((partition) => partition !== error.partition));
    const unread = batchesOf((partition) => partition === error.partition);
    this.#shard.spawn('dead letters', async () => {
      await awaitUnread(this.#shard, error);
      for (const batch of unread) this.add(batch);
    });
  }
}

const byPlace = (all: readonly RereadDeadLetter[]) =>
  new Map(all.map((one) => [placeOf(one), one] as const));

/** Publishes dead letters with the records as the source topic has them, one fetched part at a time. */
export async function publishReread(
  shard: ShardLife & SourceAccess,
  writer: TerminalWriter,
  all: readonly RereadDeadLetter[],
): Promise<void> {
  const due = byPlace(all);
  while (due.size > 0) {
    try {
      await publishOnce(shard, writer, due);
    } catch (error) {
      if (!(error instanceof UnreadPartitionError)) throw error;
      await awaitUnread(shard, error);
    }
  }
}

/** Publishes what is due, and removes it. @throws UnreadPartitionError; what ends the shard */
async function publishOnce(
  shard: ShardLife & SourceAccess,
  writer: TerminalWriter,
  due: Map<string, RereadDeadLetter>,
): Promise<void> {
  const publish = async (letters: readonly RereadDeadLetter[]) => {
    // Records that are in no job share transactions, whatever batches they were sealed into.
    for (const [job, some] of Map.groupBy(letters, (one) => one.job))
      await writer.deadLetters(job, some);
    for (const one of letters) due.delete(placeOf(one));
  };
  const wanted = CoordinateSet.of(
    [...due.values()].filter((one) => writer.mayRepeat(one, one.poison)),
  );
  await readAgain(shard, wanted, (records) =>
    publish(
      records.map((record) => {
        const one = due.get(placeOf(record)) as RereadDeadLetter;
        assertSameLog(shard.options, record, one.written);
        return { ...one, record, timestampMs: record.timestampMs };
      }),
    ),
  );
  await publish([...due.values()]);
}
