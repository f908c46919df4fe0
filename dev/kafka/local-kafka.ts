/** Running cluster of `startKafka`, whichever way it was started. */

/** Listener in addition to the plain one; only for brokers that run as Java processes. */
export interface ListenerOptions {
  /** Capitals, as in Kafka's `listeners`. */
  readonly name: string;
  readonly protocol: 'SSL' | 'SASL_SSL' | 'SASL_PLAINTEXT';
  /** Settings of this listener, without the prefix `listener.name.<name>.`. */
  readonly properties: Readonly<Record<string, string>>;
}

/** A user for SCRAM, made as the data directories are. */
export interface ScramUser {
  readonly mechanism: 'SCRAM-SHA-256' | 'SCRAM-SHA-512';
  readonly name: string;
  readonly password: string;
}

export interface KafkaOptions {
  /** Brokers, each also a controller; three replicate everything with min.insync.replicas=2. Default 1. */
  readonly brokers?: 1 | 3;
  /** Port of the first broker; the others follow it. Default: free ones. */
  readonly port?: number;
  /**
   * Ports on this machine, one for each broker, that stand for the brokers (a proxy's): each broker then has a second listener,
   * whose clients are told these ports. See `LocalKafka.behind`.
   */
  readonly proxyPorts?: readonly number[];
  /** Broker settings by Kafka's names; they override server-properties.ts. */
  readonly properties?: Readonly<Record<string, string>>;
  readonly listeners?: readonly ListenerOptions[];
  readonly scramUsers?: readonly ScramUser[];
  /** Called with each step of the start, as a short sentence. */
  readonly onProgress?: (message: string) => void;
  /** Ends the start: what was begun is ended and removed, then the start rejects with the signal's reason. No effect afterwards. */
  readonly signal?: AbortSignal;
}

export interface LocalKafka {
  /** `host:port` of every broker. */
  readonly brokers: string[];
  /** With `proxyPorts`: port of each broker's second listener, to which a proxy forwards. Otherwise empty. */
  readonly behind?: readonly number[];
  /** With `listeners`: `host:port` of every broker, by the listener's name. */
  readonly listeners?: ReadonlyMap<string, readonly string[]>;
  /** Description of the way it runs, for messages. */
  readonly description: string;
  /** Data and logs of all brokers; undefined when they are not on this machine's disk (Docker, an existing cluster). */
  readonly dataDir: string | undefined;
  /** Resolves with a sentence when a broker ends although nobody stopped it; never for an existing cluster. */
  readonly ended: Promise<string>;
  /** Ends every broker at once and removes all data. An existing cluster (KAFKA_BROKERS) is left alone. Repeatable. */
  stop(): Promise<void>;
  /**
   * Sends a signal to one broker (from 0). After SIGKILL (the default) or SIGTERM it resolves when the process is gone,
   * after SIGSTOP when all its threads are stopped, and after SIGCONT at once.
   */
  kill(index: number, signal?: NodeJS.Signals): Promise<void>;
  /** Starts a broker again on its port and data (stops it first when it runs). Resolves when it leads and follows again, and coordinators answer. */
  restart(index: number): Promise<void>;
  /** Process id of a running broker. */
  pid(index: number): number;
  /**
   * With brokers that run as Java processes: runs one of Kafka's own command line programs, such as `org.apache.kafka.tools.consumer.group.ConsumerGroupCommand`, to its end.
   * @returns its standard output.
   * @throws Error with all its output when it fails.
   */
  tool?(className: string, args: readonly string[]): Promise<string>;
}
