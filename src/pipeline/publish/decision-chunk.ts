/** Decisions about records of one job, published a chunk at a time: each chunk in one transaction with the remainder of the job. */

import { sizeOfRecord } from '../../core/bytes/record-bytes.ts';
import type { ResultSlice } from '../../core/bytes/result-slice.ts';
import { TerminalRecords } from '../../core/bytes/terminal-records.ts';
import type { LiveJob } from '../../core/journal/job.ts';
import { attempt } from '../../core/outcome/internal-error.ts';
import type { OutgoingRecord, SourceCoordinate } from '../../core/record.ts';
import type { ShardContext } from '../context/shard-context.ts';
import { type Due, tooLargeFor } from './dead-letters.ts';
import { DecisionTally } from './decision-tally.ts';

export class DecisionChunk {
  /** Records whose decision cannot be made, or is larger than the output topic takes. */
  readonly refused: Due[] = [];
  readonly #shard: ShardContext;
  readonly #job: LiveJob;
  readonly #chunk = new TerminalRecords();
  readonly #tally = new DecisionTally();
  #publishingMs = 0;

  constructor(shard: ShardContext, job: LiveJob) {
    this.#shard = shard;
    this.#job = job;
  }

  /** Decisions that wait for `flush`. */
  get length(): number {
    return this.#chunk.length;
  }

  /** Whether they are enough for one transaction. */
  get isFull(): boolean {
    return this.#shard.chunk.isFull(this.#chunk.length, this.#chunk.records.bytes);
  }

  /** Time spent in `flush` so far, ms. */
  get publishingMs(): number {
    return this.#publishingMs;
  }

  /** Takes the decision of a row. The slice must stay as it is until the end of the next `flush`. */
  addRow(slice: ResultSlice, row: number): void {
    const [partition, offset] = [slice.partition(row), slice.offset(row)];
    const [start, end] = [slice.start(row), slice.end(row)];
    if (!this.#mayPublish(partition, offset, end - start)) return;
    this.#chunk.addBytes(partition, offset, slice.bytes, start, end);
    this.#tally.add(slice.isError(row), slice.result(row));
  }

  /** Makes a decision and takes it. An exception is about this record alone. */
  add(
    { partition, offset }: SourceCoordinate,
    isError: boolean,
    result: string | undefined,
    make: () => OutgoingRecord,
  ): void {
    const decision = attempt(() => {
      const record = make();
      return { record, bytes: sizeOfRecord(record) };
    });
    if ('poison' in decision) {
      this.refused.push({ partition, offset, poison: decision.poison });
      return;
    }
    const { record, bytes } = decision.made;
    if (!this.#mayPublish(partition, offset, bytes)) return;
    this.#chunk.add({ partition, offset }, record);
    this.#tally.add(isError, result);
  }

  /** Publishes the decisions taken since the last time. */
  async flush(): Promise<void> {
    if (this.#chunk.length === 0) return;
    const { context } = this.#shard;
    const fromMs = context.clock.monotonic();
    await this.#shard.settle(this.#job, context.options.output.topic, this.#chunk);
    this.#publishingMs += context.clock.monotonic() - fromMs;
    context.ledger.published(this.#tally);
    this.#shard.decided(this.#job, this.#chunk.length);
    this.#chunk.clear();
    this.#tally.clear();
  }

  #mayPublish(partition: number, offset: number, bytes: number): boolean {
    if (this.#shard.mayPublish(partition, offset, bytes)) return true;
    this.refused.push({
      partition,
      offset,
      poison: tooLargeFor(this.#shard.context.options.output.topic),
    });
    return false;
  }
}
