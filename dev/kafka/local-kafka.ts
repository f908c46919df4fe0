/** Running cluster of `startKafka`, in any of its forms. */

/** Listener in addition to the plain one. Only brokers that run as Java processes support it. */
export interface ListenerOptions {
  /** Name in capitals, as in Kafka's `listeners`. */
  readonly name: string;
  readonly protocol: 'SSL' | 'SASL_SSL' | 'SASL_PLAINTEXT';
  /** Settings of the listener, without the prefix `listener.name.<name>.`. */
  readonly properties: Readonly<Record<string, string>>;
}

/** SCRAM user, created with the data directories. */
export interface ScramUser {
  readonly mechanism: 'SCRAM-SHA-256' | 'SCRAM-SHA-512';
  readonly name: string;
  readonly password: string;
}

export interface KafkaOptions {
  /** Number of brokers, each also a controller. Three replicate all topics with min.insync.replicas=2. Default: 1. */
  readonly brokers?: 1 | 3;
  /** Port of the first broker. The other brokers use the ports after it. Default: free ports. */
  readonly port?: number;
  /**
   * Ports of proxies on this machine, one per broker. Each broker then has a second listener, which
   * advertises its proxy's port. See `LocalKafka.behind`.
   */
  readonly proxyPorts?: readonly number[];
  /** Broker settings by Kafka's names. They override server-properties.ts. */
  readonly properties?: Readonly<Record<string, string>>;
  readonly listeners?: readonly ListenerOptions[];
  readonly scramUsers?: readonly ScramUser[];
  /** Called for each step of the start, with a short sentence. */
  readonly onProgress?: (message: string) => void;
  /** Aborts the start, which removes its processes and files and rejects with the signal's reason. No effect later. */
  readonly signal?: AbortSignal;
}

export interface LocalKafka {
  /** `host:port` of every broker. */
  readonly brokers: string[];
  /** With `proxyPorts`: port of each broker's second listener, to which the proxy forwards. Otherwise empty. */
  readonly behind?: readonly number[];
  /** With `listeners`: `host:port` of every broker, by listener name. */
  readonly listeners?: ReadonlyMap<string, readonly string[]>;
  /** Kind of the cluster (Java or existing), for messages. */
  readonly description: string;
  /** Data and logs of all brokers. undefined if they are not on this machine's disk (an existing cluster). */
  readonly dataDir: string | undefined;
  /** Resolves with a sentence when a broker ends without being stopped. Never resolves for an existing cluster. */
  readonly ended: Promise<string>;
  /** Ends all brokers at once and removes all data. Leaves an existing cluster (KAFKA_BROKERS) alone. Idempotent. */
  stop(): Promise<void>;
  /**
   * Sends a signal to one broker, counted from 0. After SIGKILL (the default) or SIGTERM it
   * resolves when the process is gone, after SIGSTOP when all its threads have stopped, and after
   * SIGCONT at once.
   */
  kill(index: number, signal?: NodeJS.Signals): Promise<void>;
  /** Restarts a broker with its port and data, even if it runs. Resolves when the cluster is fully ready again. */
  restart(index: number): Promise<void>;
  /** Process id of a running broker. */
  pid(index: number): number;
  /**
   * Runs one of Kafka's command line programs, such as
   * `org.apache.kafka.tools.consumer.group.ConsumerGroupCommand`, to its end. Present only if brokers run
   * as Java processes.
   * @returns its standard output
   * @throws Error with its complete output if it fails
   */
  tool?(className: string, args: readonly string[]): Promise<string>;
}
