/**
 * A copy of kafkajs 2.2.4 of our own, and the shapes of its inside that the mends touch. Whatever copy was loaded
 * before stays with who loaded it; ours is loaded module by module, so that some can be replaced before others use them.
 */
import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import path from 'node:path';
import type * as KafkaJs from 'kafkajs';
import { assertVerified, verifyKafkaJs } from './kafkajs-modules.ts';
import type { MeasuredRecord } from './record-batch.ts';

const load = createRequire(import.meta.url);
const root = path.dirname(load.resolve('kafkajs/package.json'));
verifyKafkaJs(root);
for (const file of Object.keys(load.cache)) {
  if (file.startsWith(root + path.sep)) delete load.cache[file];
}

/** A module of kafkajs, one of those in kafkajs-modules.ts. */
export function internal<T>(file: string): T {
  assertVerified(file);
  return load(path.join(root, 'src', file)) as T;
}

/** Puts another in its place, for the modules that are loaded after this. */
export function replace(file: string, mended: unknown): void {
  internal(file);
  const module = load.cache[path.join(root, 'src', file)];
  if (module === undefined) throw new Error(`kafkajs loaded src/${file} from elsewhere`);
  module.exports = mended;
}

/** Loads what is left of kafkajs: after the last replacement. */
export function loadKafkaJs(): typeof KafkaJs {
  return load('kafkajs') as typeof KafkaJs;
}

export type Bail = (error: unknown) => void;
export type Attempt = (bail: Bail, retryCount: number, retryTime: number) => Promise<unknown>;
export type CreateRetry = (options?: object) => (attempt: Attempt) => Promise<unknown>;

export interface Decoder {
  readonly buffer: Buffer;
  readInt32(): number;
  readBytes(size: number): Buffer;
  canReadBytes(size: number): boolean;
}
export interface RequestQueue {
  pending: unknown[];
  throttledUntil: number;
  throttleCheckTimeoutId: NodeJS.Timeout | null;
  readonly inflight: ReadonlyMap<number, unknown>;
  rejectAll(error: Error): void;
  destroy(): void;
  checkPendingRequests(): void;
}

export interface Connection {
  readonly host: string;
  readonly port: number;
  readonly socket?: Socket;
  readonly requestQueue: RequestQueue;
  readonly socketFactory: object;
  /** process.hrtime of the last login; null before it. */
  readonly authenticatedAt: [number, number] | null;
  /** Milliseconds; 0 when the broker sets no end. */
  readonly sessionLifetime: { toString(): string };
  isAuthenticated(): boolean;
  isConnected(): boolean;
  authenticate(): Promise<void>;
  connect(): Promise<unknown>;
  disconnect(): Promise<unknown>;
  send(request: object): Promise<unknown>;
}

export interface BrokerPool {
  /** null when no broker answered. */
  withBroker(ask: (broker: object) => Promise<unknown>): Promise<unknown>;
}

export interface Metadata {
  readonly topicMetadata: readonly { readonly topic: string }[];
}

export interface Grouping {
  readonly topic: string;
  readonly partitionMetadata: readonly unknown[];
  readonly messages: readonly KafkaJs.Message[];
  readonly partitioner: (args: object) => number;
}

export interface Encoder {
  readonly buffer: Buffer;
}
export interface EncoderClass {
  new (initialSize?: number): Encoder;
}

/** The part of kafkajs's ConsumerGroup that its public face hides and a member of a group needs. */
export interface ConsumerGroup {
  readonly generationId: number | null;
  readonly memberId: string | null;
  readonly seekOffset: Map<string, string>;
  /** Sends a heartbeat when none was sent within `interval` ms; joins one that is under way. */
  heartbeat(options: { interval: number }): Promise<void>;
}

export interface Runner {
  readonly fetchManager: { start(): Promise<void> };
  scheduleFetchManager(): void;
}

export type TopicPartitions = { topic: string; partitions: { partition: number }[] }[];
export interface EosManager {
  addPartitionsToTransaction(topics: TopicPartitions): Promise<void>;
}

type Whole = number | string | { toString(): string };

export interface BatchToEncode {
  readonly compression?: number;
  readonly transactional?: boolean;
  readonly records?: readonly MeasuredRecord[];
  readonly partitionLeaderEpoch?: number;
  readonly firstOffset?: Whole;
  readonly lastOffsetDelta?: number;
  readonly firstTimestamp?: Whole;
  readonly maxTimestamp?: Whole;
  readonly producerId?: Whole;
  readonly producerEpoch?: number;
  readonly firstSequence?: number;
}
