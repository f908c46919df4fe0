/**
 * A copy of kafkajs 2.2.4 of our own, and the shapes of its inside that the mends touch. Whatever copy was loaded
 * before stays with who loaded it; ours is loaded module by module, so that some can be replaced before others use them.
 */
import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import path from 'node:path';
import type * as KafkaJs from 'kafkajs';
import type { OutgoingBatch } from '../producer/outgoing-batch.ts';
import { assertVerified, verifyKafkaJs } from './modules.ts';

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
  isTransactional(): boolean;
  getTransactionalId(): string;
  /** Decimal; -1 before there is one. */
  getProducerId(): string | number;
  getProducerEpoch(): number;
  addPartitionsToTransaction(topics: TopicPartitions): Promise<void>;
  acquireBrokerLock(broker: Leader): Promise<void>;
  releaseBrokerLock(broker: Leader): Promise<void> | undefined;
}

/** Its errors, as far as they differ from each other. */
export interface KafkaError extends Error {
  readonly retriable?: boolean;
  readonly host: string;
  readonly port: number;
}
export type KafkaErrorClass = new (message: string) => Error;

export interface ProduceOptions {
  readonly acks: number;
  /** Milliseconds. */
  readonly timeout?: number | undefined;
  readonly transactionalId?: string | undefined;
  readonly producerId: string | number;
  readonly producerEpoch: number;
  /** Handed on as it is, until the request is written. */
  readonly topicData: { readonly topic: string; readonly batch: OutgoingBatch };
}
export interface ProduceAnswer {
  readonly topics: readonly {
    readonly topicName: string;
    readonly partitions: readonly object[];
  }[];
}
/** A broker as producers use it. */
export interface Leader {
  produce(options: ProduceOptions): Promise<ProduceAnswer>;
}

export interface Request {
  readonly apiKey: number;
  /** Overwritten by the later versions of a request. */
  readonly apiVersion: number;
  readonly apiName: string;
  readonly expectResponse?: () => boolean;
  /** Writes the whole request: only ours has it. */
  readonly frame?: (apiVersion: number, correlationId: number, clientId: string) => Buffer;
}
export type RequestFrame = (given: {
  readonly request: Request;
  readonly correlationId: number;
  readonly clientId: string;
}) => Promise<{ readonly buffer: Buffer }>;
