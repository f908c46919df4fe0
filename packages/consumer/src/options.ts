/** Options of a consumer of decisions, and the records that it delivers. */
import type {
  DeadLetterHeaders,
  Decision,
  LookedUpDecision,
  Receipt,
} from '../../../contracts/index.js';
import type { RecordHeaders } from '../../../src/core/record.ts';

/** Record of a pipeline's output topic, by kind. */
export type Outcome = Decision | LookedUpDecision | Receipt;

export interface RecordPlace {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
}

export interface RecordBytes {
  readonly key: Buffer | null;
  /** Value as on the topic. */
  readonly value: Buffer | null;
  /** Headers in their order. A name may occur several times. */
  readonly headers: RecordHeaders;
}

/** Record of the output topic. */
export interface ReceivedDecision<T extends Outcome = Decision> extends RecordPlace, RecordBytes {
  readonly kind: 'decision';
  /** `decision.id`: unique among the terminal records of a pipeline. */
  readonly eventId: string;
  /** Numbers are doubles. For 64-bit ids in metadata, parse `value` with another parser. */
  readonly decision: T;
}

/** Record of the dead-letter topic, with the key and value of the source record. */
export interface ReceivedDeadLetter extends RecordPlace, RecordBytes {
  readonly kind: 'dead-letter';
  readonly eventId: string;
  readonly deadLetter: DeadLetterHeaders;
}

/** Record that is neither a decision nor a dead letter: from another application, or damaged. */
export interface UnreadableRecord extends RecordPlace {
  readonly kind: 'unreadable';
  /** One past the last offset. A damaged batch covers several offsets. */
  readonly to: number;
  /** Reason, without content. */
  readonly problem: string;
  /** Key, value and headers, unless the record itself cannot be read. */
  readonly record: RecordBytes | undefined;
}

export type ReceivedRecord<T extends Outcome = Decision> =
  | ReceivedDecision<T>
  | ReceivedDeadLetter
  | UnreadableRecord;

/** Consecutive records of one partition. */
export interface ReceivedBatch<T extends Outcome = Decision> {
  readonly topic: string;
  readonly partition: number;
  /** `to` of the previous batch, or the position from `positions`; 0 if there is none. */
  readonly from: number;
  /** Position to store together with the effects of these records. The next batch begins here. */
  readonly to: number;
  /** At least one record, in the order of the partition. */
  readonly records: readonly ReceivedRecord<T>[];
  /** Aborted when this member no longer owns the partition. */
  readonly signal: AbortSignal;
}

export interface RegistryOptions {
  /** URL of the API of Confluent's schema registry or a compatible one. */
  readonly url: string;
  /** Credentials for HTTP basic authentication. */
  readonly username?: string;
  readonly password?: string;
  /** Bearer token, as an alternative to a user name. */
  readonly token?: string;
  /** Allows credentials to be sent by http to another machine. */
  readonly insecureWithoutTls?: boolean;
  /** PEM files of the trusted authorities, instead of those that Node.js trusts. */
  readonly ca?: readonly string[];
}

export interface BrokerTls {
  /** PEM files of the trusted authorities. Default: those that Node.js trusts. */
  readonly ca?: readonly string[];
  /** PEM file of the client certificate, for brokers that require one. Needs `key`, too. */
  readonly certificate?: string;
  readonly key?: string;
  /** Name that the brokers' certificates must have, instead of their host names. */
  readonly serverName?: string;
}

export interface BrokerLogin {
  readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512';
  readonly username: string;
  /** Password. A function is called for each login. */
  readonly password: string | (() => string | Promise<string>);
  /** Allows `plain` to send the password unencrypted to another machine. */
  readonly insecureWithoutTls?: boolean;
}

/** Receives the log of a consumer. No field contains content or this package's secrets. */
export type ConsumerLog = (
  level: 'debug' | 'info' | 'warn' | 'error',
  message: string,
  fields: object,
) => void;

export interface DecisionConsumerOptions<T extends Outcome = Decision> {
  /** `host:port` of some brokers, which are enough to find the others. */
  readonly brokers: readonly string[];
  /** Consumer group. All its members must use this consumer and the same topics. */
  readonly group: string;
  /** Output topic of a pipeline. */
  readonly decisions: string;
  /** Dead-letter topic. Default: dead letters are not read. */
  readonly deadLetters?: string;
  /**
   * Processes records, one batch at a time. When it returns, the position is committed. If it throws or
   * rejects, the same records are delivered again after a growing pause.
   */
  readonly process: (batch: ReceivedBatch<T>) => void | Promise<void>;
  /**
   * Returns the stored position (`to` of the last batch) of each partition; 0 if there is none. Called
   * when partitions are assigned, and after a failure of `process`. Default: the group's committed
   * offsets.
   */
  readonly positions?: (
    topic: string,
    partitions: readonly number[],
  ) => ReadonlyMap<number, number> | Promise<ReadonlyMap<number, number>>;
  /** Schema registry, for pipelines with `output.format` avro, protobuf or json-schema. */
  readonly registry?: RegistryOptions;
  /** `true`: TLS with the authorities that Node.js trusts. Default: no TLS. */
  readonly tls?: true | BrokerTls;
  readonly sasl?: BrokerLogin;
  /** Default: `content-review-consumer`. */
  readonly clientId?: string;
  /** Default: warnings and errors are emitted as process warnings. */
  readonly log?: ConsumerLog;
}
