/**
 * Settlement of records of one job. Takes rows, collects their decisions, and publishes them in
 * chunks. If a row cannot become a decision, its record becomes a dead letter.
 */
import { Counts } from '../../../packages/client/src/base/counts.ts';
import { fits, TerminalRecords } from '../../core/bytes/encoded-records.ts';
import type { ResultSlice, RowOutcome } from '../../core/bytes/result-slice.ts';
import { SliceWriter } from '../../core/bytes/slice-writer.ts';
import { CoordinateSet, type LiveJob } from '../../core/journal/job.ts';
import type { DeadLetterStage } from '../../core/outcome/dead-letter.ts';
import type { Poison, SourceCoordinate } from '../../core/record.ts';
import type { ShardContext } from '../context/shard-context.ts';
import type { DeadLetter, TerminalWriter } from '../context/terminal-writer.ts';
import { publishReread } from '../source/dead-letter-rereads.ts';
import { writtenBetween } from '../source/reread.ts';

/** Maximum size of slices relative to a chunk's bytes. Above 1, because their buffers are larger than their rows. */
const SLICES_PER_CHUNK = 1.5;

/** Returns false for a row that would settle nothing. */
type IsWanted = (partition: number, offset: number) => boolean;

export class Settlement implements Disposable {
  readonly #shard: ShardContext;
  readonly #writer: TerminalWriter;
  readonly #job: LiveJob;
  readonly #stage: DeadLetterStage;
  readonly #chunk = new TerminalRecords();
  /** Number of the chunk's decisions by result, and number of those with status ERROR. */
  readonly #results = new Counts();
  #errors = 0;
  /** Records whose decision cannot be created, or is too large for the output topic. */
  readonly #refused: DeadLetter[] = [];
  /** Slices that were processed completely, and that may still have rows in the chunk. */
  readonly #read: ResultSlice[] = [];
  #readBytes = 0;
  /** Time in ms spent on publishing decisions so far. */
  publishingMs = 0;

  /** @param stage stage that the dead letters have */
  constructor(shard: ShardContext, writer: TerminalWriter, job: LiveJob, stage: DeadLetterStage) {
    this.#shard = shard;
    this.#writer = writer;
    this.#job = job;
    this.#stage = stage;
  }

  /** Processes a slice. The slice is released here, or together with the chunk if the chunk has rows of it. */
  async take(given: ResultSlice, isWanted: IsWanted): Promise<void> {
    const { encode } = this.#shard.kind;
    const slice = encode === undefined ? given : SliceWriter.encoded(given, encode);
    try {
      this.#shard.signal.throwIfAborted();
      for (const other of slice.others)
        if ('poison' in other && isWanted(other.partition, other.offset))
          this.#refuse(other, other.poison);
      for (let row = 0; row < slice.length; row++) {
        const partition = slice.partition(row);
        const offset = slice.offset(row);
        if (!isWanted(partition, offset)) continue;
        const start = slice.start(row);
        const end = slice.end(row);
        if (!this.#fits(partition, offset, end - start)) continue;
        this.#chunk.addBytes(partition, offset, slice.bytes, start, end);
        this.#count(slice.outcome(row));
        if (this.#isFull()) await this.#flush();
      }
    } finally {
      this.#read.push(slice);
      this.#readBytes += slice.bytes.length;
    }
    // Dropped rows, and unused space after the rows, take memory too.
    if (this.#chunk.length === 0) this[Symbol.dispose]();
    else if (this.#isFull(this.#readBytes / SLICES_PER_CHUNK)) await this.#flush();
  }

  /** Publishes the remaining decisions. Then publishes dead letters of the few refused records, which are reread. */
  async end(): Promise<void> {
    await this.#flush();
    if (this.#refused.length === 0) return;
    const [from, written] = [this.#job, writtenBetween(this.#job)];
    const due = this.#refused
      .splice(0)
      .map((one) => ({ ...one, from, written, records: CoordinateSet.of([one]) }));
    await publishReread(this.#shard, this.#writer, due);
  }

  /** Releases the processed slices. The chunk must not have rows of them any more. */
  [Symbol.dispose](): void {
    for (const slice of this.#read.splice(0)) slice.release();
    this.#readBytes = 0;
  }

  /** Returns true if the chunk is large enough for a transaction. @param bytes memory of the chunk's slices */
  #isFull(bytes = 0): boolean {
    return this.#writer.size.isFull(this.#chunk.length, Math.max(bytes, this.#chunk.records.bytes));
  }

  /** Publishes the chunk's decisions. */
  async #flush(): Promise<void> {
    const decisions = this.#chunk.length;
    if (decisions > 0) {
      const { clock, lanes, ledger, options, report } = this.#shard;
      const startedMs = clock.monotonic();
      await this.#writer.settle(this.#job, options.output.topic, this.#chunk);
      this.publishingMs += clock.monotonic() - startedMs;
      ledger.published(decisions, this.#errors, this.#results);
      const { lane, oldestEventMs } = this.#job.record;
      const ageMs = Math.max(0, clock.now() - oldestEventMs);
      const isLate = ageMs > lanes.named(lane).ageMs;
      report.observe('event_to_decision_seconds', ageMs / 1000, decisions);
      if (isLate) report.count('decisions_late_total', {}, decisions);
      this.#chunk.clear();
      this.#results.clear();
      this.#errors = 0;
    }
    this[Symbol.dispose]();
  }

  #count({ isError, result }: RowOutcome): void {
    if (isError) this.#errors++;
    if (result !== undefined) this.#results.add(result);
  }

  /** Records a dead letter that replaces a record's decision. */
  #refuse({ partition, offset }: SourceCoordinate, poison: Poison): void {
    this.#refused.push({ partition, offset, poison, stage: this.#stage });
  }

  #fits(partition: number, offset: number, bytes: number): boolean {
    const { options, topics } = this.#shard;
    if (!this.#writer.size.isOversized(partition, offset) && fits(bytes, topics.maxOutputBytes))
      return true;
    const { topic } = options.output;
    const message = `the decision exceeds the maximum record size of topic ${topic}: raise its max.message.bytes`;
    this.#refuse({ partition, offset }, { reason: 'too_large', message });
    return false;
  }
}
