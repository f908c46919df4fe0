/**
 * kafkajs with patches for its known faults. Other modules get its values only from here. kafkajs
 * has had no release since 2023, so its faulty modules are replaced before the others are loaded.
 * docs/internals/kafkajs.md lists the patches with their reasons and tests.
 */

import { isClientClosed, protocolErrorOf } from '../errors.ts';
import { patchConnections } from './connection-patches.ts';
import { internal, loadKafkaJs, loadWithDate, replace } from './internals.ts';
import { joining, type MemberAssigner, patchJoins } from './join-patches.ts';
import { nameLeaderless } from './leader-patches.ts';
import { PartitionFetch } from './partition-fetch.ts';
import { fetchFromReplicas } from './replica-patches.ts';
import { patchResponses } from './response-patches.ts';
import type { ConsumerGroup, ProduceOptions } from './shapes.ts';

// Patch 6 of docs/internals/kafkajs.md: a produce request is written into its batch's buffer, before the batch.

interface FramedRequest {
  /** Later versions of a request overwrite it. */
  readonly apiVersion: number;
  /** Writes the whole request. Only replaced requests have this method. */
  readonly frame?: (apiVersion: number, correlationId: number, clientId: string) => Buffer;
}
type FrameRequest = (given: {
  readonly request: FramedRequest;
  readonly correlationId: number;
  readonly clientId: string;
}) => Promise<{ readonly buffer: Buffer }>;

/** Replaces the version of the request that later versions extend, and lets a request write its own frame. */
function writeRequestsInPlace(): void {
  replace(
    'protocol/requests/produce/v3/request.js',
    ({ topicData: { topic, batch }, timeout: timeoutMs, ...fields }: Required<ProduceOptions>) => ({
      apiKey: 0,
      apiVersion: 3,
      apiName: 'Produce',
      frame: (apiVersion: number, correlationId: number, clientId: string) =>
        batch.request({ ...fields, apiVersion, correlationId, clientId, timeoutMs, topic }),
    }),
  );
  const frame = internal<FrameRequest>('protocol/request.js');
  const inPlace: FrameRequest = async (given) => {
    const { request, correlationId, clientId } = given;
    return request.frame === undefined
      ? await frame(given)
      : { buffer: request.frame(request.apiVersion, correlationId, clientId) };
  };
  replace('protocol/request.js', inPlace);
}

type RetryAttempt = (bail: (error: unknown) => void, ...tries: number[]) => Promise<unknown>;
type CreateRetry = (options?: object) => (attempt: RetryAttempt) => Promise<unknown>;

/** Patch 1: ends the retries of a closed client. Nothing else can cancel their timers. */
function stopRetryingWhenClosed(): void {
  const createRetry = internal<CreateRetry>('retry/index.js');
  const patched: CreateRetry = (options) => {
    const retrier = createRetry(options);
    return (attempt) =>
      retrier((bail, ...tries) =>
        attempt(bail, ...tries).catch((error: unknown) => {
          if (!isClientClosed(error)) throw error;
          bail(error);
        }),
      );
  };
  replace('retry/index.js', patched);
}

/** Modules that measure intervals. Modules that write timestamps keep the wall clock. */
const TIMED_MODULES = [
  'network/requestQueue/socketRequest.js',
  'network/requestQueue/index.js',
  'cluster/brokerPool.js',
  'consumer/offsetManager/index.js',
  'consumer/consumerGroup.js',
  'consumer/runner.js',
];

/**
 * Patch 9: kafkajs measures intervals with the wall clock. After the clock was set back, it sent no
 * heartbeats, timed out no requests, and did not use throttled connections until the clock had
 * caught up.
 */
function measureByMonotonicClock(): void {
  for (const file of TIMED_MODULES) loadWithDate(file, { now: () => performance.now() });
}

/** Patch 4: after each response kafkajs set a timer with a negative delay, even if no request was waiting. */
function noNegativeTimers(): void {
  const { prototype } = internal<{
    prototype: { readonly pending: readonly unknown[]; scheduleCheckPendingRequests(): void };
  }>('network/requestQueue/index.js');
  const { scheduleCheckPendingRequests } = prototype;
  prototype.scheduleCheckPendingRequests = function () {
    if (this.pending.length > 0) scheduleCheckPendingRequests.call(this);
  };
}

/** Assigner that receives internals of kafkajs. */
export interface AttachedAssigner extends MemberAssigner {
  /** Called once before the first join, because the event of a join does not contain its generation. */
  attached(group: ConsumerGroup): void;
  /** Receives the result of each fetch, including empty and failed partitions. */
  fetched(fetches: readonly PartitionFetch[]): void;
}
interface AttachingGroup extends ConsumerGroup {
  readonly assigners: readonly Partial<AttachedAssigner>[];
  readonly sessionTimeout: number;
  connect(): Promise<void>;
  fetch(nodeId: string): Promise<PartitionFetch[]>;
  /** Sends a heartbeat if none was sent for `interval` ms. Concurrent calls share one. */
  heartbeat(options: { readonly interval: number }): Promise<void>;
}

/**
 * Patch 7, together with response-patches.ts: an error of one partition ended the fetch loop of all
 * partitions, and the group's offset of an out-of-range partition was committed as -2 or -1.
 */
function attachAssigners(): void {
  const { prototype } = internal<{ prototype: AttachingGroup }>('consumer/consumerGroup.js');
  const { connect, fetch } = prototype;
  prototype.connect = function () {
    for (const assigner of this.assigners) assigner.attached?.(this);
    return connect.call(this);
  };
  prototype.fetch = async function (nodeId) {
    const fetches = await whileBeating(this, fetch.call(this, nodeId));
    this.assigners[0]?.fetched?.(fetches);
    return fetches;
  };
}

const { isRebalancing } = internal<{ isRebalancing(error: unknown): boolean }>('errors.js');
/** Number of heartbeats within a session timeout. */
const BEATS = 10;

/**
 * Patch 24: kafkajs sends heartbeats only between fetches. A fetch that a quota throttled for longer
 * than the session timeout ended the membership. Rejects if the group rebalances during the fetch,
 * so that kafkajs's runner joins again.
 */
async function whileBeating<T>(group: AttachingGroup, fetch: Promise<T>): Promise<T> {
  const left = Promise.withResolvers<never>();
  const interval = group.sessionTimeout / BEATS;
  const beat = async () => {
    // The coordinator would respond only after the join, and for the previous generation.
    if (joining.has(group)) return;
    const { generationId } = group;
    await group.heartbeat({ interval }).catch((error: unknown) => {
      const isOutside = isRebalancing(error) || protocolErrorOf(error) === 'UNKNOWN_MEMBER_ID';
      // Ignores any other error, because the fetch itself fails or the next heartbeat succeeds.
      if (isOutside && !joining.has(group) && group.generationId === generationId)
        left.reject(error);
    });
  };
  const timer = setInterval(() => void beat(), interval);
  try {
    return await Promise.race([fetch, left.promise]);
  } finally {
    clearInterval(timer);
  }
}

/** Time after which a fetch loop counts as healthy. Later failures are counted from zero. */
const HEALTHY_MS = 10_000;

interface ManagerOptions {
  fetch(nodeId: string): Promise<unknown>;
}
type CreateManager = (options: ManagerOptions) => {
  start(): Promise<void>;
  stop(): Promise<void>;
};

/**
 * Patch 8: resets the error count of kafkajs, because six broken connections in a month crashed the
 * consumer. Patch 25: ends the fetch loop of a stopped consumer. kafkajs restarted the loop if a
 * broker joined or left during the stop. Its fetches returned at once, so no other code could run.
 */
function patchFetchLoop(): void {
  const file = 'consumer/fetchManager.js';
  const createManager = internal<CreateManager>(file);
  replace(file, (options: ManagerOptions) => {
    let isStopped = false;
    const fetch = async (nodeId: string) => {
      if (isStopped) throw new Error('the consumer has stopped');
      return await options.fetch(nodeId);
    };
    const manager = createManager({ ...options, fetch });
    const stop = async () => {
      isStopped = true;
      await manager.stop();
    };
    const start = async () => {
      const beganMs = performance.now();
      try {
        await manager.start();
      } catch (error) {
        if (isStopped) return;
        const { retriable, type, name } = error as Error & { retriable?: boolean; type?: string };
        const isKnown =
          isRebalancing(error) ||
          type === 'UNKNOWN_MEMBER_ID' ||
          name === 'KafkaJSNoBrokerAvailableError';
        // If this function returns, kafkajs's runner calls it again with a new count.
        if (retriable !== true || isKnown || performance.now() - beganMs < HEALTHY_MS) throw error;
      }
    };
    return { ...manager, start, stop };
  });
}

// The order matters: a module must be replaced before any module that uses it is loaded.
stopRetryingWhenClosed();
patchResponses();
// Patch 3: kafkajs's read_committed returned records of aborted transactions.
replace('consumer/batch.js', PartitionFetch);
writeRequestsInPlace();
patchFetchLoop();
measureByMonotonicClock();
noNegativeTimers();
fetchFromReplicas();
attachAssigners();
patchJoins();
patchConnections();
nameLeaderless();

export const { AssignerProtocol, ConfigResourceTypes, Kafka, logLevel } = loadKafkaJs();
