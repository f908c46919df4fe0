/**
 * Reads old source records again (a rewind, DESIGN 3). It fetches by itself and belongs to no group: there is nothing to
 * join, to commit or to clean up, and no right on another group to be granted.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from 'kafkajs';
import { abortable } from '../../base/abortable.ts';
import type { RecordPiece, SourceReader } from '../../core/ports/kafka.ts';
import type { Logger } from '../../core/ports/telemetry.ts';
import { ClusterConnection } from '../client/cluster-connection.ts';
import type { ConnectOptions } from '../client/connect.ts';
import { explain } from '../client/errors.ts';
import type { Asked } from '../client/missing-acl.ts';
import { isClientClosed } from '../kafkajs/patches.ts';
import { toOffset } from '../records/decode-batch.ts';
import type { ReadLimits } from '../records/index.ts';
import {
  ADMIT_ALL,
  OWN_TOPIC_LIMITS,
  type PartitionData,
  PartitionFetch,
} from './partition-fetch.ts';

export interface SourceReaderOptions {
  readonly topic: string;
  /** Default: those of topics that the connector writes itself. */
  readonly limits?: ReadLimits | undefined;
  /** Most bytes of one fetch; a single larger record still comes. Default 1 MiB. */
  readonly maxFetchBytes?: number;
  /** Connections are closed after this time without a read. Default 30,000 ms. */
  readonly idleMs?: number;
}

const MAX_WAIT_MS = 100;
const READ_COMMITTED = 1;
/** Failures of one fetch in a row before a read gives up, with pauses of 100 ms, then twice as long each, up to 2 s: 20 s. */
const MAX_FAILURES = 14;
/** Fetches in a row that find the log's end before the last offset wanted: a new leader may learn the end a little later. */
const MAX_EARLY_ENDS = 20;

type Fetched = Pick<PartitionFetch, 'nextOffset' | 'highWatermark' | 'pieces'>;

export class KafkaSourceReader implements SourceReader {
  readonly #connect: ConnectOptions;
  readonly #connection: ClusterConnection;
  readonly #options: SourceReaderOptions;
  readonly #logger: Logger;
  #reads = 0;
  #idle: NodeJS.Timeout | undefined;
  readonly #closing = new AbortController();

  constructor(connect: ConnectOptions, options: SourceReaderOptions, logger: Logger) {
    this.#connect = connect;
    this.#connection = new ClusterConnection(connect, logger);
    this.#options = options;
    this.#logger = logger;
  }

  async read(
    range: { readonly partition: number; readonly from: number; readonly to: number },
    onPiece: (piece: RecordPiece) => void | Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const stopped = AbortSignal.any([signal, this.#closing.signal]);
    stopped.throwIfAborted();
    clearTimeout(this.#idle);
    this.#reads++;
    try {
      let position = range.from;
      let earlyEnds = 0;
      while (position <= range.to) {
        // A fetch cannot be called back: its answer is dropped.
        const fetch = await abortable(this.#fetch(range.partition, position, stopped), stopped);
        if (fetch.nextOffset > position) {
          earlyEnds = 0;
          position = fetch.nextOffset;
          await this.#deliver(fetch, range.to, onPiece, stopped);
        } else if (Number(fetch.highWatermark) <= position && ++earlyEnds > MAX_EARLY_ENDS) {
          const where = `${this.#options.topic}-${range.partition}`;
          throw new Error(
            `${where} ends at ${position}, before offset ${range.to}: was the topic created again?`,
          );
        }
      }
    } finally {
      this.#reads--;
      if (this.#reads === 0) this.#disconnectLater();
    }
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error('the source reader is closed'));
    clearTimeout(this.#idle);
    await this.#connection.close();
  }

  get #asked(): Asked {
    return {
      operation: 'READ',
      topic: this.#options.topic,
      principal: this.#connect.security?.principal,
    };
  }

  #disconnectLater(): void {
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => void this.#connection.close(), this.#options.idleMs ?? 30_000);
    this.#idle.unref();
  }

  async #deliver(
    fetch: Fetched,
    to: number,
    onPiece: (piece: RecordPiece) => void | Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    for await (const piece of fetch.pieces(this.#options.limits ?? OWN_TOPIC_LIMITS, ADMIT_ALL)) {
      await onPiece(piece.nextOffset > to ? upTo(to, piece) : piece);
      signal.throwIfAborted();
      if (piece.nextOffset > to) return;
    }
  }

  /** One fetch, with retries. Below the log's start it comes back empty, with the start as the next offset. */
  async #fetch(partition: number, position: number, signal: AbortSignal): Promise<Fetched> {
    for (let failures = 0; ; failures++) {
      signal.throwIfAborted();
      try {
        return await this.#fetchOnce(await this.#connection.cluster(), partition, position);
      } catch (error) {
        if (signal.aborted || isClientClosed(error)) throw signal.aborted ? signal.reason : error;
        const where = `${this.#options.topic}-${partition}`;
        if (failures >= MAX_FAILURES || (error as { retriable?: boolean }).retriable === false) {
          throw new Error(
            `cannot read ${where} from offset ${position}: ${explain(error, this.#asked)}`,
            { cause: error },
          );
        }
        this.#logger.debug(
          { partition, position, error: explain(error) },
          'a fetch of old records failed: trying again',
        );
        await sleep(Math.min(100 * 2 ** failures, 2_000), undefined, { signal });
        await this.#connection.refresh();
      }
    }
  }

  async #fetchOnce(cluster: Cluster, partition: number, position: number): Promise<Fetched> {
    const { topic } = this.#options;
    await cluster.addMultipleTargetTopics([topic]);
    await cluster.refreshMetadataIfNecessary();
    const nodeId = Object.keys(cluster.findLeaderForPartitions(topic, [partition]))[0];
    if (nodeId === undefined) throw new Error(`topic ${topic} has no partition ${partition}`);
    const broker = await cluster.findBroker({ nodeId });
    try {
      const answer: { responses: { partitions: PartitionData[] }[] } = await broker.fetch({
        isolationLevel: READ_COMMITTED,
        maxWaitTime: MAX_WAIT_MS,
        minBytes: 1,
        maxBytes: this.#options.maxFetchBytes ?? 1024 * 1024,
        topics: [
          {
            topic,
            partitions: [
              {
                partition,
                fetchOffset: String(position),
                maxBytes: this.#options.maxFetchBytes ?? 1024 * 1024,
              },
            ],
          },
        ],
      });
      const data = answer.responses[0]?.partitions[0];
      if (data === undefined)
        throw new Error(`the broker answered without partition ${partition} of ${topic}`);
      const fetch = new PartitionFetch(topic, String(position), data);
      if (fetch.failure !== undefined) throw fetch.failure;
      return fetch;
    } catch (error) {
      if (!(error instanceof Error) || error.name !== 'KafkaJSOffsetOutOfRange') throw error;
      const start = await logStart(cluster, topic, partition);
      return {
        nextOffset: start,
        highWatermark: String(start),
        async *pieces() {
          yield { records: [], unreadable: undefined, nextOffset: start };
        },
      };
    }
  }
}

/** Part of a piece that lies at or below an offset. */
function upTo(to: number, { records, unreadable, nextOffset }: RecordPiece): RecordPiece {
  return {
    records: records.filter(({ offset }) => offset <= to),
    unreadable:
      unreadable && unreadable.from <= to
        ? { ...unreadable, to: Math.min(unreadable.to, to + 1) }
        : undefined,
    nextOffset,
  };
}

async function logStart(cluster: Cluster, topic: string, partition: number): Promise<number> {
  const [offsets] = await cluster.fetchTopicsOffset([
    { topic, partitions: [{ partition }], fromBeginning: true },
  ]);
  return toOffset(offsets?.partitions[0]?.offset ?? '');
}
