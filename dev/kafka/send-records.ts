/** Producer of ordinary records to given partitions, for the demo and for tests. */
import { BufferPool } from '../../src/core/bytes/buffer-pool.ts';
import { EncodedRecords } from '../../src/core/bytes/encoded-records.ts';
import type { OutgoingRecord } from '../../src/core/record.ts';
import { BatchProducer } from '../../src/kafka/producer/batch-producer.ts';
import { OutgoingBatch } from '../../src/kafka/producer/outgoing-batch.ts';
import { planBatchesTo } from '../../src/kafka/producer/send-plan.ts';
import { createLogger } from '../../src/telemetry/logger.ts';

const pool = new BufferPool(2 * 1024 * 1024);
/** Number of bytes for the strings of a request. Names of test topics, clients and transactions are shorter. */
const ROOM_BYTES = 1_024;
const REQUEST_MS = 5_000;

const ignore = () => undefined;
export interface RecordProducerOptions {
  /** Absent for a producer without transactions. */
  readonly transactionalId?: string;
  readonly timeoutMs?: number;
}

/** Idempotent producer: a send repeated after a broker's failure appears once. It waits for a broker that is down. */
export class RecordProducer {
  readonly #producer: BatchProducer;
  readonly #ended = new AbortController();
  #last: Promise<unknown> = Promise.resolve();

  constructor(
    brokers: readonly string[],
    { transactionalId, timeoutMs = 60_000 }: RecordProducerOptions = {},
  ) {
    const timeouts = { connectionTimeoutMs: REQUEST_MS, requestTimeoutMs: REQUEST_MS };
    this.#producer = new BatchProducer(
      { brokers, clientId: 'record-producer', ...timeouts },
      { transactionalId, transactionTimeoutMs: timeoutMs, signal: this.#ended.signal },
      createLogger({ level: 'silent' }),
    );
  }

  /**
   * Must be called before the first send or, with transactions, before each one.
   * @param partitions partitions to which it writes
   */
  begin(topic: string, partitions: Iterable<number>): Promise<void> {
    return this.#producer.begin(new Map([[topic, partitions]]));
  }

  /**
   * Writes records to one partition in order, after all earlier sends, in as many batches as
   * necessary.
   * @param timestampMs time of every record, since the epoch
   * @returns the offset of each record
   */
  send(
    topic: string,
    partition: number,
    records: Iterable<OutgoingRecord>,
    timestampMs?: number,
  ): Promise<number[]> {
    const encoded = EncodedRecords.of(records);
    const sent = this.#last
      .catch(ignore)
      .then(() => this.#send(topic, partition, encoded, timestampMs));
    this.#last = sent;
    return sent;
  }

  end(commit: boolean): Promise<void> {
    return this.#producer.end(commit);
  }

  async close(): Promise<void> {
    this.#ended.abort(new Error('the producer is closed'));
    await this.#producer.close();
  }

  async #send(
    topic: string,
    partition: number,
    records: EncodedRecords,
    timestampMs: number | undefined,
  ): Promise<number[]> {
    const offsets: number[] = [];
    for (const planned of planBatchesTo(partition, records)) {
      const batch = new OutgoingBatch(pool, records, planned, ROOM_BYTES, timestampMs);
      const base = await this.#producer.send(topic, batch);
      for (let place = 0; place < planned.rows.length; place++) offsets.push(base + place);
    }
    return offsets;
  }
}
