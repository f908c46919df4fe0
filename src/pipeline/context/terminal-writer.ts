/**
 * Terminal writer of a shard: the only code that publishes decisions and dead letters.
 *
 * Every source record results in exactly one of them (I2), because one transaction has both the
 * terminal record and the journal records that account for the source record: the remainder of its
 * job or, if it is in no job, the progress of its partition. After a crash, both exist or neither.
 * `ShardState` throws if a record would be settled twice.
 *
 * `Settlement` and `collect` fill chunks that fit into one transaction (`ChunkSize`). If a decision
 * is too large for the output topic, its record becomes a dead letter. A dead letter contains the
 * source record if the topic accepts its size, otherwise only the coordinates.
 */
import { type Coordinates, fits, TerminalRecords } from '../../core/bytes/encoded-records.ts';
import { sizeOfRecord } from '../../core/bytes/record-bytes.ts';
import type { LiveJob } from '../../core/journal/job.ts';
import type { Step, UnassignedRecord } from '../../core/journal/shard-state.ts';
import { type DeadLetterStage, deadLetter } from '../../core/outcome/dead-letter.ts';
import type { DeadLetterReason } from '../../core/outcome/dead-letter-reason.ts';
import { attempt } from '../../core/outcome/internal-error.ts';
import { TransactionError } from '../../core/ports/kafka.ts';
import {
  type OutgoingRecord,
  type Poison,
  placeOf,
  type SourceCoordinate,
  type SourceRecord,
} from '../../core/record.ts';
import type { InFlightRecords } from '../limits/in-flight.ts';
import { step } from './batch-spans.ts';
import type { PipelineOptions } from './options.ts';
import type { ShardContext } from './shard-context.ts';

/**
 * Size of a shard's transactions, which adapts to their success. It outlives the shard's owners in
 * this process, because a failed transaction ends its owner and the next owner must not repeat it.
 */
export class ChunkSize {
  readonly #limits: PipelineOptions['chunk'];
  #rows: number;
  readonly #oversized = new Set<string>();

  constructor(limits: PipelineOptions['chunk']) {
    this.#limits = limits;
    this.#rows = limits.maxRows;
  }

  /** Returns true if this many rows or bytes are enough for one transaction. */
  isFull(rows: number, bytes: number): boolean {
    return rows >= this.#rows || bytes >= this.#limits.maxBytes;
  }

  /** Returns true if Kafka has rejected the record's terminal record even as the only one in a transaction. */
  isOversized(partition: number, offset: number): boolean {
    // The set is usually empty. Checking its size first avoids building a string key for every row.
    return this.#oversized.size > 0 && this.#oversized.has(placeOf({ partition, offset }));
  }

  succeeded(): void {
    this.#rows = Math.min(this.#limits.maxRows, this.#rows * 2);
  }

  /** Halves the size of the next chunks, because the failed one may have been too large or too slow. */
  failed(records: Coordinates, error: unknown): void {
    this.#rows = Math.max(1, Math.floor(Math.min(this.#rows, records.length) / 2));
    const isTooLarge = error instanceof TransactionError && error.failure === 'too_large';
    if (records.length !== 1 || !isTooLarge) return;
    this.#oversized.add(placeOf({ partition: records.partition(0), offset: records.offset(0) }));
  }
}

/** Source record that becomes a dead letter. */
export interface DeadLetter extends UnassignedRecord {
  readonly poison: Poison;
  readonly stage: DeadLetterStage;
  /** The source record. Without it, the dead letter contains only the coordinates. */
  readonly record?: SourceRecord | undefined;
  /** Group of records in flight to which the record belongs while it is in no job. */
  readonly inFlight?: InFlightRecords | undefined;
}

/** Encoded dead letters of one transaction. */
export class DeadLetterChunk {
  /** Job to which the records belong, if any. */
  readonly job: LiveJob | undefined;
  terminal = new TerminalRecords();
  ended: (Omit<DeadLetter, 'poison' | 'record'> & { readonly reason: string })[] = [];

  constructor(job?: LiveJob) {
    this.job = job;
  }

  get bytes(): number {
    return this.terminal.records.bytes;
  }
}

export class TerminalWriter {
  readonly #shard: ShardContext;
  readonly size: ChunkSize;
  readonly #published: () => void;

  /** @param published called after each commit, because W and the number of unsettled records may have changed */
  constructor(shard: ShardContext, size: ChunkSize, published: () => void) {
    this.#shard = shard;
    this.size = size;
    this.#published = published;
  }

  /**
   * Publishes dead letters. At most one chunk of them is in memory at a time.
   * @param job job to which the records belong, if any
   * @throws TransactionError, or the error that ended the queue earlier
   */
  async deadLetters(job: LiveJob | undefined, all: Iterable<DeadLetter>): Promise<void> {
    const chunk = new DeadLetterChunk(job);
    await this.collect(chunk, all);
    await this.publish(chunk);
  }

  /** Encodes dead letters into a chunk. Publishes the chunk whenever it is full. @throws like `deadLetters` */
  async collect(chunk: DeadLetterChunk, all: Iterable<DeadLetter>): Promise<void> {
    for (const dead of all) {
      const { record, poison, ...at } = dead;
      const { partition } = at;
      const replay =
        chunk.job?.replayOf(partition) ?? this.#shard.state.partition(partition).replay;
      const { made, reason } = this.#render(dead, replay);
      chunk.terminal.add(at, made);
      chunk.ended.push({ ...at, reason });
      if (this.size.isFull(chunk.terminal.length, chunk.bytes)) await this.publish(chunk);
    }
  }

  /** Publishes a chunk in one transaction, and empties it. @throws like `deadLetters` */
  async publish(chunk: DeadLetterChunk): Promise<void> {
    const { job, ended, terminal } = chunk;
    if (ended.length === 0) return;
    const { ledger, options, state } = this.#shard;
    const { topic } = options.deadLetters;
    if (job === undefined) {
      const oldestMs = Math.min(
        ...ended.map(({ inFlight }) => inFlight?.oldestEventMs ?? Infinity),
      );
      await this.#commit(topic, terminal, oldestMs, () => {
        for (const { inFlight } of ended) inFlight?.drop(1);
        return state.deadLetter(ended);
      });
    } else await this.settle(job, topic, terminal);
    ledger.deadLettered(ended);
    // The memory is not kept for the next chunk, because the shard may stay idle.
    chunk.terminal = new TerminalRecords();
    chunk.ended = [];
  }

  /** Returns false if the dead letter must not contain the record. The record then need not be reread. */
  mayRepeat({ partition, offset }: SourceCoordinate, { reason }: Poison): boolean {
    return reason !== 'internal_error' && !this.size.isOversized(partition, offset);
  }

  /** Publishes a job's terminal records in one transaction with the job's remainder. */
  async settle(job: LiveJob, topic: string, chunk: TerminalRecords): Promise<void> {
    const attributes = {
      'messaging.system': 'kafka',
      'messaging.operation.type': 'send',
      'messaging.operation.name': 'send',
      'messaging.destination.name': topic,
      'messaging.batch.message_count': chunk.length,
    };
    const { spans } = this.#shard.report;
    await spans.shrinking(job, () =>
      step(
        spans.of(job),
        `send ${topic}`,
        attributes,
        () =>
          this.#commit(topic, chunk, job.record.oldestEventMs, () =>
            this.#shard.state.settle(job, chunk),
          ),
        { kind: 'producer' },
      ),
    );
  }

  async #commit(
    topic: string,
    chunk: TerminalRecords,
    oldestEventMs: number,
    end: () => Step | undefined,
  ): Promise<void> {
    const { inFlight, ledger, queue } = this.#shard;
    let sent: InFlightRecords | undefined;
    const committed = queue.run(() => {
      const step = end();
      sent = inFlight.committing.add(chunk.length, oldestEventMs);
      return step && { ...step, outputs: [{ topic, records: chunk.records }] };
    });
    try {
      await committed;
    } catch (error) {
      // Releases these records here, because ShardWorker.#end leaves out records of a running transaction.
      if (sent !== undefined) {
        ledger.released(chunk.length);
        sent.drop(chunk.length);
        this.size.failed(chunk, error);
      }
      throw error;
    }
    this.size.succeeded();
    sent?.drop(chunk.length);
    this.#published();
  }

  /** Renders a dead letter, with the source record if possible, otherwise with only its coordinates. */
  #render(dead: DeadLetter, replay: number): { made: OutgoingRecord; reason: DeadLetterReason } {
    const { options, report, topics } = this.#shard;
    const { partition, offset, record, stage } = dead;
    const { topic } = options.source;
    const about = { topic, stage, replay };
    let { poison } = dead;
    // Even without the value, key and headers may exceed the topic's maximum message size.
    for (const maxValueBytes of [Infinity, 0]) {
      if (record === undefined || !this.mayRepeat(dead, poison)) break;
      const tried = attempt(() => {
        const letter = deadLetter(record, dead.poison, { ...about, maxValueBytes });
        return { letter, fits: fits(sizeOfRecord(letter), topics.maxDeadLetterBytes) };
      });
      if ('poison' in tried) poison = tried.poison;
      else if (tried.made.fits) return { made: tried.made.letter, reason: poison.reason };
    }
    if (poison.crash !== undefined)
      report.internal.report(stage, { topic, partition, offset }, poison.crash);
    return { made: deadLetter({ partition, offset }, poison, about), reason: poison.reason };
  }
}
