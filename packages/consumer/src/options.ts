/** Options of a consumer of decisions, and the records that it delivers. */
import type {
  DeadLetterHeaders,
  Decision,
  LookedUpDecision,
  Receipt,
} from '../../../src/contracts/index.ts';
import type { RecordHeaders } from '../../../src/core/record.ts';

/** Record of the output topic of a pipeline, by its kind. */
export type Outcome = Decision | LookedUpDecision | Receipt;

export interface RecordPlace {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
}

export interface RecordBytes {
  readonly key: Buffer | null;
  /** Value as it is on the topic. */
  readonly value: Buffer | null;
  /** Headers in their order; a name may occur several times. */
  readonly headers: RecordHeaders;
}

/** Record of the output topic. */
export interface ReceivedDecision<T extends Outcome = Decision> extends RecordPlace, RecordBytes {
  readonly kind: 'decision';
  /** `decision.id`: unique among the terminal records of a pipeline. */
  readonly eventId: string;
  /** Numbers are doubles: parse `value` with another parser for 64-bit ids in metadata. */
  readonly decision: T;
}

/** Record of the dead-letter topic, with the key and value of the source record. */
export interface ReceivedDeadLetter extends RecordPlace, RecordBytes {
  readonly kind: 'dead-letter';
  readonly eventId: string;
  readonly deadLetter: DeadLetterHeaders;
}

/** Record that is no decision and no dead letter: written by another application, or damaged. */
export interface UnreadableRecord extends RecordPlace {
  readonly kind: 'unreadable';
  /** One past the last offset: a damaged batch has several records. */
  readonly to: number;
  /** Reason, without content of the record. */
  readonly problem: string;
  /** Key, value and headers, unless the record itself cannot be read. */
  readonly record: RecordBytes | undefined;
}

export type ReceivedRecord<T extends Outcome = Decision> =
  | ReceivedDecision<T>
  | ReceivedDeadLetter
  | UnreadableRecord;

/** Records of one partition that follow each other. */
export interface ReceivedBatch<T extends Outcome = Decision> {
  readonly topic: string;
  readonly partition: number;
  /** `to` of the batch before, or the position that `positions` returned; 0 without one. */
  readonly from: number;
  /** Position to store with the effects of these records: the next batch begins here. */
  readonly to: number;
  /** At least one; in the order of the partition. */
  readonly records: readonly ReceivedRecord<T>[];
  /** Aborted when this member no longer owns the partition. */
  readonly signal: AbortSignal;
}

export interface RegistryOptions {
  /** Address of the API of Confluent's schema registry, or of a compatible one. */
  readonly url: string;
  /** Credentials for HTTP basic authentication. */
  readonly username?: string;
  readonly password?: string;
  /** Bearer token, instead of a user name. */
  readonly token?: string;
  /** Lets credentials be sent by http to another machine. */
  readonly insecureWithoutTls?: boolean;
  /** PEM files of authorities, instead of those that Node.js knows. */
  readonly ca?: readonly string[];
}

export interface BrokerTls {
  /** PEM files of authorities. Default: those that Node.js knows. */
  readonly ca?: readonly string[];
  /** PEM files for brokers that require a certificate: both, or none. */
  readonly certificate?: string;
  readonly key?: string;
  /** Name that the certificates of the brokers must have, instead of their hosts. */
  readonly serverName?: string;
}

export interface BrokerLogin {
  readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512';
  readonly username: string;
  /** A function is called for each login. */
  readonly password: string | (() => string | Promise<string>);
  /** Lets `plain` send the password unencrypted to another machine. */
  readonly insecureWithoutTls?: boolean;
}

/** Receives the log of a consumer. No field holds content or secrets of this package. */
export type ConsumerLog = (
  level: 'debug' | 'info' | 'warn' | 'error',
  message: string,
  fields: object,
) => void;

export interface DecisionConsumerOptions<T extends Outcome = Decision> {
  /** `host:port` of some brokers; the others are found through them. */
  readonly brokers: readonly string[];
  /** Consumer group. All of its members use this consumer, with the same topics. */
  readonly group: string;
  /** Output topic of a pipeline. */
  readonly decisions: string;
  /** Dead-letter topic. Default: dead letters are not read. */
  readonly deadLetters?: string;
  /**
   * Processes records. One call at a time; the position is committed when it returns. After a
   * rejection the records are delivered again, after a growing pause.
   */
  readonly process: (batch: ReceivedBatch<T>) => void | Promise<void>;
  /**
   * Returns the position that the caller stored for each partition (`to` of its last batch); 0
   * where there is none. Called when partitions are assigned and after a rejection of `process`.
   * Default: the offsets that the group has committed to Kafka.
   */
  readonly positions?: (
    topic: string,
    partitions: readonly number[],
  ) => ReadonlyMap<number, number> | Promise<ReadonlyMap<number, number>>;
  /** Schema registry, for pipelines with `output.format` avro, protobuf or json-schema. */
  readonly registry?: RegistryOptions;
  /** `true`: TLS with the authorities that Node.js knows. Default: no TLS. */
  readonly tls?: true | BrokerTls;
  readonly sasl?: BrokerLogin;
  /** Default: `content-review-consumer`. */
  readonly clientId?: string;
  /** Default: warnings and errors become warnings of the process. */
  readonly log?: ConsumerLog;
}
