/** A connection to the cluster without a group or a producer around it: for requests that kafkajs's clients do not offer. */
import type { Cluster, RetryOptions } from 'kafkajs';
import type { Logger } from '../../core/ports/telemetry.ts';
import { Client, type ConnectOptions, clusterOf } from './connect.ts';

const RETRY: RetryOptions = {
  initialRetryTime: 100,
  multiplier: 2,
  maxRetryTime: 1_000,
  retries: 5,
};
const METADATA_MAX_AGE_MS = 60_000;
const CLOSE_GRACE_MS = 500;

interface Connection {
  readonly client: Client;
  readonly cluster: Cluster;
  readonly ready: Promise<void>;
}

/** Connected when it is first asked for, and anew after it was closed or could not be made. */
export class ClusterConnection {
  readonly #connect: ConnectOptions;
  readonly #logger: Logger;
  #connection: Connection | undefined;

  constructor(connect: ConnectOptions, logger: Logger) {
    this.#connect = connect;
    this.#logger = logger;
  }

  async cluster(): Promise<Cluster> {
    this.#connection ??= this.#open();
    const connection = this.#connection;
    try {
      await connection.ready;
    } catch (error) {
      if (this.#connection === connection) await this.close();
      throw error;
    }
    return connection.cluster;
  }

  /** After a request that failed: a leader may have moved. Never rejects. */
  async refresh(): Promise<void> {
    await this.#connection?.cluster.refreshMetadata().catch(() => undefined);
  }

  /** Repeatable. */
  async close(): Promise<void> {
    const connection = this.#connection;
    this.#connection = undefined;
    if (connection !== undefined)
      await connection.client.close(() => connection.cluster.disconnect(), CLOSE_GRACE_MS);
  }

  #open(): Connection {
    const client = new Client(this.#connect, this.#logger, RETRY);
    const cluster = clusterOf(client, METADATA_MAX_AGE_MS);
    return { client, cluster, ready: cluster.connect() };
  }
}
