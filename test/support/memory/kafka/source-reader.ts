/** SourceReader over MemoryKafka. */

import { abortable } from '../../../../packages/client/src/base/abortable.ts';
import {
  type RecordPiece,
  type SourceReader,
  UnreadPartitionError,
} from '../../../../src/core/ports/kafka.ts';
import { roundTrip } from '../scheduler.ts';
import type { Home } from './client.ts';
import type { MemoryKafka } from './kafka.ts';
import type { LogRead } from './partition-log.ts';
import { below } from './pieces.ts';

/** Maximum wait for the log to reach the last requested offset, ms. */
const EARLY_END_MS = 2_000;

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
    onPiece: (piece: RecordPiece) => void | Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const stop = AbortSignal.any([signal, this.#closed.signal]);
    for (let next = range.from; next <= range.to; ) {
      stop.throwIfAborted();
      const read = await abortable(this.#fetch(range.partition, next), stop);
      if (read.nextOffset <= next) {
        await abortable(this.#growth(range.partition, next, range.to), stop);
        continue;
      }
      next = read.nextOffset;
      // Below the start of the log there are no records, only the next offset.
      const passed =
        read.pieces.length > 0
          ? read.pieces
          : [{ records: [], unreadable: undefined, nextOffset: next }];
      for (const piece of below(passed, range.to + 1)) {
        await onPiece(piece);
        stop.throwIfAborted();
      }
    }
  }

  async close(): Promise<void> {
    this.#closed.abort(new Error(`the reader of ${this.#topic} was closed`));
  }

  #fetch(partition: number, from: number): Promise<LogRead> {
    return roundTrip(this.#kafka.network, this.#home, `reader/${this.#name}/${partition}`, () => {
      const failure = this.#kafka.hooks.failure?.('read', this.#topic);
      if (failure !== undefined) throw failure;
      const error = this.#kafka.hooks.partitionFailure?.('read', this.#topic, partition);
      if (error !== undefined) throw new UnreadPartitionError(partition, error);
      return this.#kafka.cluster
        .log(this.#topic, partition)
        .read(from, this.#kafka.settings.maxBatchRecords);
    });
  }

  /** Resolves when the partition changes. Rejects after two seconds if it does not change and has no open transaction. */
  #growth(partition: number, next: number, to: number): Promise<void> {
    const where = `${this.#topic}-${partition}`;
    return new Promise((resolve, reject) => {
      const cancel = this.#home.after(EARLY_END_MS, () => {
        const { cluster } = this.#kafka;
        const log =
          partition < cluster.partitions(this.#topic)
            ? cluster.log(this.#topic, partition)
            : undefined;
        if (log !== undefined && log.stableEnd < log.end) return;
        unwatch();
        reject(
          new Error(`${where} ends at ${next}, before offset ${to}: was the topic created again?`),
        );
      });
      const unwatch = this.#kafka.cluster.watch((topic, changed) => {
        if (topic !== this.#topic || changed !== partition) return;
        unwatch();
        cancel();
        this.#home.defer(`reader/${this.#name}/${partition}`, resolve);
      });
    });
  }
}
