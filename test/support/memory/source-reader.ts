/** SourceReader over MemoryKafka. */
import type { SourceReader } from '../../../src/core/ports/kafka.ts';
import type { SourceRecord } from '../../../src/core/record.ts';
import type { Home } from './client.ts';
import type { MemoryKafka } from './kafka.ts';
import type { LogRead } from './partition-log.ts';
import { roundTrip } from './scheduler.ts';

export class MemorySourceReader implements SourceReader {
  readonly #kafka: MemoryKafka;
  readonly #home: Home;
  readonly #name: string;
  readonly #topic: string;
  readonly #closed = new AbortController();

  constructor(kafka: MemoryKafka, home: Home, name: string, topic: string) {
    this.#kafka = kafka;
    this.#home = home;
    this.#name = name;
    this.#topic = topic;
  }

  async read(
    range: { readonly partition: number; readonly from: number; readonly to: number },
    onBatch: (records: readonly SourceRecord[], next: number) => void | Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const stop = AbortSignal.any([signal, this.#closed.signal]);
    for (let next = range.from; next <= range.to; ) {
      stop.throwIfAborted();
      const read = await abortable(this.#fetch(range.partition, next), stop);
      if (read.nextOffset <= next) {
        await abortable(this.#growth(range.partition), stop);
        continue;
      }
      next = Math.min(read.nextOffset, range.to + 1);
      await onBatch(
        read.records.filter((record) => record.offset <= range.to),
        next,
      );
    }
  }

  async close(): Promise<void> {
    this.#closed.abort(new Error(`the reader of ${this.#topic} was closed`));
  }

  #fetch(partition: number, from: number): Promise<LogRead> {
    return roundTrip(this.#kafka.network, this.#home, `reader/${this.#name}/${partition}`, () => {
      const failure = this.#kafka.hooks.failure?.('read', this.#topic);
      if (failure !== undefined) throw failure;
      const log = this.#kafka.cluster.log(this.#topic, partition);
      // Past the end there is nothing yet; a log would take the position for one that is out of range.
      return log.read(Math.min(from, log.end), this.#kafka.settings.maxBatchRecords);
    });
  }

  /** Resolves when something happens in the partition. */
  #growth(partition: number): Promise<void> {
    return new Promise((resolve) => {
      const unwatch = this.#kafka.cluster.watch((topic, changed) => {
        if (topic !== this.#topic || changed !== partition) return;
        unwatch();
        this.#home.defer(`reader/${this.#name}/${partition}`, resolve);
      });
    });
  }
}

/** Settles as `work` does, or rejects with the signal's reason. */
function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
