/**
 * Reader of old source records, for retries and tools. It joins no consumer group and commits
 * nothing, so it needs no rights on a group.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { abortable, settledWithin } from '../../../packages/client/src/base/abortable.ts';
import {
  type RecordPiece,
  type SourceReader,
  UnreadPartitionError,
} from '../../core/ports/kafka.ts';
import type { Logger } from '../../core/ports/telemetry.ts';
import {
  ClusterConnection,
  EARLIEST,
  leadersOf,
  listOffsets,
  READ_COMMITTED,
} from '../cluster-connection.ts';
import type { ConnectOptions } from '../connect.ts';
import { isTransient, protocolErrorOf } from '../errors.ts';
import { OWN_TOPIC_LIMITS, PartitionFetch } from '../kafkajs/partition-fetch.ts';
import { AVOIDED_MS, closeConnections, maxResponseMs } from '../kafkajs/replica-patches.ts';
import type { KafkaBroker, KafkaCluster } from '../kafkajs/shapes.ts';
import type { ReadLimits } from '../records/index.ts';

export interface SourceReaderOptions {
  readonly topic: string;
  /** Limits on records. Default: the limits of topics that the connector writes itself. */
  readonly limits?: ReadLimits | undefined;
  /** Maximum bytes of one fetch. If the first batch alone is larger, it is still returned. Default 1 MiB. */
  readonly maxFetchBytes?: number;
}

/** Time without reads after which the connections are closed. */
const IDLE_MS = 30_000;
const MAX_WAIT_MS = 100;
/** Maximum time for one fetch. */
const PATIENCE_MS = 20_000;
/** Maximum number of consecutive fetches that end too early. A new leader's high watermark may lag for a while. */
const MAX_EARLY_ENDS = 20;

type FetchedPieces = Pick<PartitionFetch, 'nextOffset' | 'highWatermark' | 'pieces'>;

export class KafkaSourceReader implements SourceReader {
  readonly #connection: ClusterConnection;
  readonly #options: SourceReaderOptions;
  readonly #rack: string;
  /** Time until which no replica is used, because one has failed (monotonic clock, ms). */
  #leadersUntilMs = -Infinity;
  #reads = 0;
  #idle: NodeJS.Timeout | undefined;
  readonly #closing = new AbortController();

  constructor(connect: ConnectOptions, options: SourceReaderOptions, logger: Logger) {
    this.#connection = new ClusterConnection(connect, logger, PATIENCE_MS);
    this.#options = options;
    this.#rack = connect.rack ?? '';
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
        // A fetch cannot be cancelled. If the signal aborts the wait, its response is dropped.
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
      if (--this.#reads === 0) {
        this.#idle = setTimeout(() => void this.#connection.disconnect(), IDLE_MS).unref();
      }
    }
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error('the source reader is closed'));
    clearTimeout(this.#idle);
    await this.#connection.close();
  }

  async #deliver(
    fetch: FetchedPieces,
    to: number,
    onPiece: (piece: RecordPiece) => void | Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    for await (const piece of fetch.pieces(this.#options.limits ?? OWN_TOPIC_LIMITS)) {
      await onPiece(piece.nextOffset > to ? upTo(to, piece) : piece);
      signal.throwIfAborted();
      if (piece.nextOffset > to) return;
    }
  }

  /** Fetches from a position. Below the log's start, returns an empty fetch whose next offset is the start. */
  async #fetch(partition: number, position: number, signal: AbortSignal): Promise<FetchedPieces> {
    const { topic } = this.#options;
    try {
      return await this.#connection.request(
        `read ${topic}-${partition} from offset ${position}`,
        { operation: 'READ', topic },
        (cluster) => this.#fetchOnce(cluster, partition, position),
        { signal },
      );
    } catch (error) {
      signal.throwIfAborted();
      // Brokers return UNKNOWN_SERVER_ERROR if a log segment cannot be loaded, so the read is retried.
      if (!isTransient(error) && protocolErrorOf(error) !== 'UNKNOWN') throw error;
      const { message } = error as Error;
      throw new UnreadPartitionError(partition, message, { cause: error });
    }
  }

  async #fetchOnce(
    cluster: KafkaCluster,
    partition: number,
    position: number,
  ): Promise<FetchedPieces> {
    const { topic, maxFetchBytes: maxBytes = 1024 * 1024 } = this.#options;
    const fetchOffset = String(position);
    const fetchFrom = async (broker: KafkaBroker, rackId: string) => {
      const { responses } = await broker.fetch({
        isolationLevel: READ_COMMITTED,
        maxWaitTime: MAX_WAIT_MS,
        minBytes: 1,
        maxBytes,
        topics: [{ topic, partitions: [{ partition, fetchOffset, maxBytes }] }],
        rackId,
      });
      const data = responses[0]?.partitions[0];
      return data && new PartitionFetch(topic, fetchOffset, data);
    };
    const [[leader]] = (await leadersOf(cluster, topic, [partition])) as [[KafkaBroker, unknown]];
    let fetch = await fetchFrom(leader, performance.now() < this.#leadersUntilMs ? '' : this.#rack);
    const nodeId = fetch?.preferredReplica ?? -1;
    if (nodeId >= 0) {
      const fetching = cluster.findBroker({ nodeId }).then((replica) => fetchFrom(replica, ''));
      const inTime = await settledWithin(fetching, MAX_WAIT_MS + maxResponseMs(cluster, nodeId));
      if (!inTime) closeConnections(cluster, nodeId, 'no response');
      const near = inTime ? await fetching.catch(() => undefined) : undefined;
      // All requested records exist, so a replica without them has failed or lags.
      if (near !== undefined && near.nextOffset > position) return near;
      this.#leadersUntilMs = performance.now() + AVOIDED_MS;
      fetch = await fetchFrom(leader, '');
    }
    // If a quota throttles the fetch, the response has no partitions.
    if (fetch === undefined) {
      await sleep(MAX_WAIT_MS);
      return { nextOffset: position, highWatermark: 'unknown', pieces: async function* () {} };
    }
    if (fetch.failure === undefined) return fetch;
    if (protocolErrorOf(fetch.failure) !== 'OFFSET_OUT_OF_RANGE') throw fetch.failure;
    const starts = await listOffsets(cluster, topic, [partition], EARLIEST, READ_COMMITTED);
    const start = starts.get(partition) ?? 0;
    return {
      nextOffset: start,
      highWatermark: String(start),
      async *pieces() {
        yield { records: [], unreadable: undefined, nextOffset: start };
      },
    };
  }
}

/** Returns the part of a piece up to and including an offset. */
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
