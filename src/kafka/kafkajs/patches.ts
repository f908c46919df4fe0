/**
 * kafkajs with its known faults patched. Only this module loads kafkajs for its values. kafkajs has
 * had no release since 2023, so it is patched while it is loaded: faulty modules are replaced
 * before the others. docs/internals/kafkajs.md lists the patches with their reasons and tests.
 */

import { isClientClosed } from '../errors.ts';
import { patchConnections } from './connection-patches.ts';
import { internal, loadKafkaJs, loadWithDate, replace } from './internals.ts';
import { type MemberAssigner, patchJoins } from './join-patches.ts';
import { nameLeaderless } from './leader-patches.ts';
import { PartitionFetch } from './partition-fetch.ts';
import { patchResponses } from './response-patches.ts';
import type { ConsumerGroup, ProduceOptions } from './shapes.ts';

// Patch 6 of docs/internals/kafkajs.md: writes produce requests before their batch, in the same buffer.

interface FramedRequest {
  /** Overwritten by later versions of a request. */
  readonly apiVersion: number;
  /** Writes the whole request. Only the replaced requests have it. */
  readonly frame?: (apiVersion: number, correlationId: number, clientId: string) => Buffer;
}
type FrameRequest = (given: {
  readonly request: FramedRequest;
  readonly correlationId: number;
  readonly clientId: string;
}) => Promise<{ readonly buffer: Buffer }>;

/** Replaces the request on which later versions build, and lets a request write its own frame. */
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

/** Patch 1: ends retries of a closed client, whose timers nothing else can cancel. */
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

/** Modules that measure intervals. Modules that stamp records keep the wall clock. */
const TIMED_MODULES = [
  'network/requestQueue/socketRequest.js',
  'network/requestQueue/index.js',
  'cluster/brokerPool.js',
  'consumer/offsetManager/index.js',
  'consumer/consumerGroup.js',
  'consumer/runner.js',
];

/**
 * Patch 9: kafkajs measures intervals by the wall clock. After the clock was set back, it sent no
 * heartbeat, timed out no request, and kept throttled connections silent for the length of the
 * step.
 */
function measureByMonotonicClock(): void {
  for (const file of TIMED_MODULES) loadWithDate(file, { now: () => performance.now() });
}

/** Patch 4: kafkajs set a timer of negative length after every response, even if no request was waiting. */
function noNegativeTimers(): void {
  const { prototype } = internal<{
    prototype: { readonly pending: readonly unknown[]; scheduleCheckPendingRequests(): void };
  }>('network/requestQueue/index.js');
  const { scheduleCheckPendingRequests } = prototype;
  prototype.scheduleCheckPendingRequests = function () {
    if (this.pending.length > 0) scheduleCheckPendingRequests.call(this);
  };
}

/** Assigner that gets access to internals of kafkajs. */
export interface AttachedAssigner extends MemberAssigner {
  /** Called once, before the first join, because the event of a join does not contain its generation. */
  attached(group: ConsumerGroup): void;
  /** Receives the result of each fetch, including empty and failed partitions. */
  fetched(fetches: readonly PartitionFetch[]): void;
}
interface AttachingGroup extends ConsumerGroup {
  readonly assigners: readonly Partial<AttachedAssigner>[];
  connect(): Promise<void>;
  fetch(nodeId: string): Promise<PartitionFetch[]>;
}

/**
 * Patch 7, with response-patches.ts: an error of one partition ended the fetch loop of all
 * partitions, and an out-of-range offset was committed to the group as -2 or -1.
 */
function attachAssigners(): void {
  const { prototype } = internal<{ prototype: AttachingGroup }>('consumer/consumerGroup.js');
  const { connect, fetch } = prototype;
  prototype.connect = function () {
    for (const assigner of this.assigners) assigner.attached?.(this);
    return connect.call(this);
  };
  prototype.fetch = async function (nodeId) {
    const fetches = await fetch.call(this, nodeId);
    this.assigners[0]?.fetched?.(fetches);
    return fetches;
  };
}

/** Time after which a fetch loop counts as healthy. A later failure starts a new count. */
const HEALTHY_MS = 10_000;

interface FetchManager {
  start(): Promise<void>;
}

/** Patch 8: kafkajs never resets its count of errors, so that six broken connections in a month crashed the consumer. */
function forgetOldErrors(): void {
  const file = 'consumer/fetchManager.js';
  const { isRebalancing } = internal<{ isRebalancing(error: unknown): boolean }>('errors.js');
  const createManager = internal<(options: object) => FetchManager>(file);
  replace(file, (options: object): FetchManager => {
    const manager = createManager(options);
    const start = async () => {
      const beganMs = performance.now();
      try {
        await manager.start();
      } catch (error) {
        const { retriable, type, name } = error as Error & { retriable?: boolean; type?: string };
        const isKnown =
          isRebalancing(error) ||
          type === 'UNKNOWN_MEMBER_ID' ||
          name === 'KafkaJSNoBrokerAvailableError';
        // If this returns, the runner starts it again with a fresh count.
        if (retriable !== true || isKnown || performance.now() - beganMs < HEALTHY_MS) throw error;
      }
    };
    return { ...manager, start };
  });
}

// The order matters: a module must be replaced before any module that uses it is loaded.
stopRetryingWhenClosed();
patchResponses();
// Patch 3: kafkajs's read_committed returned records of aborted transactions.
replace('consumer/batch.js', PartitionFetch);
writeRequestsInPlace();
forgetOldErrors();
measureByMonotonicClock();
noNegativeTimers();
attachAssigners();
patchJoins();
patchConnections();
nameLeaderless();

export const { AssignerProtocol, ConfigResourceTypes, Kafka, logLevel } = loadKafkaJs();
