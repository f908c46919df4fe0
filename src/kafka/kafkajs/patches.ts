/**
 * kafkajs with its known faults patched. Nothing else in the project loads kafkajs for its values.
 *
 * kafkajs has had no release since 2023, so it is patched while it is loaded: faulty modules are
 * replaced, and the rest is loaded on top of them. docs/internals/kafkajs.md lists the patches by number,
 * each with its reason and its test.
 */

import { isClientClosed } from '../errors.ts';
import { patchConnections } from './connection-patches.ts';
import { internal, loadKafkaJs, loadWithDate, replace } from './internals.ts';
import { type MemberAssigner, patchJoins } from './join-patches.ts';
import { nameLeaderless } from './leader-patches.ts';
import { PartitionFetch } from './partition-fetch.ts';
import { patchResponses } from './response-patches.ts';
import type { ConsumerGroup, ProduceOptions } from './shapes.ts';

// Patch 6 of docs/internals/kafkajs.md: produce requests that are written in front of their batch.

interface FramedRequest {
  /** Overwritten by the later versions of a request. */
  readonly apiVersion: number;
  /** Writes the whole request: only ours has it. */
  readonly frame?: (apiVersion: number, correlationId: number, clientId: string) => Buffer;
}
type FrameRequest = (given: {
  readonly request: FramedRequest;
  readonly correlationId: number;
  readonly clientId: string;
}) => Promise<{ readonly buffer: Buffer }>;

/** Replaces the request that the later versions build on, and lets a request write its own frame. */
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

/** Patch 1: retries are timers that nothing can cancel; a closed client ends them. */
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

/** Modules that measure intervals. Those that stamp records keep the wall clock. */
const TIMED_MODULES = [
  'network/requestQueue/socketRequest.js',
  'network/requestQueue/index.js',
  'cluster/brokerPool.js',
  'consumer/offsetManager/index.js',
  'consumer/consumerGroup.js',
  'consumer/runner.js',
];

/**
 * Patch 9: intervals were measured by the wall clock. Once it was set back, no heartbeat was sent,
 * no request timed out, and a throttled connection sent nothing, for as long as the step.
 */
function measureByMonotonicClock(): void {
  for (const file of TIMED_MODULES) loadWithDate(file, { now: () => performance.now() });
}

/** Patch 4: a timer of negative length was set after every response, although no request waited. */
function noNegativeTimers(): void {
  const { prototype } = internal<{
    prototype: { readonly pending: readonly unknown[]; scheduleCheckPendingRequests(): void };
  }>('network/requestQueue/index.js');
  const { scheduleCheckPendingRequests } = prototype;
  prototype.scheduleCheckPendingRequests = function () {
    if (this.pending.length > 0) scheduleCheckPendingRequests.call(this);
  };
}

/** An assigner that gets what kafkajs keeps inside. */
export interface AttachedAssigner extends MemberAssigner {
  /** Called once, before the first join: the generation of a join is not in its event. */
  attached(group: ConsumerGroup): void;
  /** Takes what each fetch returns, empty and failed partitions included. */
  fetched(fetches: readonly PartitionFetch[]): void;
}
interface AttachingGroup extends ConsumerGroup {
  readonly assigners: readonly Partial<AttachedAssigner>[];
  connect(): Promise<void>;
  fetch(nodeId: string): Promise<PartitionFetch[]>;
}

/**
 * Patch 7, with response-patches.ts: an error of one partition ended the fetch loop of all, and an
 * offset out of range was committed to the group as -2 or -1.
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

/** A fetch loop that ran this long was healthy: its failure begins a new count. */
const HEALTHY_MS = 10_000;

interface FetchManager {
  start(): Promise<void>;
}

/** Patch 8: errors were counted permanently: six broken connections in a month crashed the consumer. */
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
        // Returning makes the runner start it again, with a fresh count.
        if (retriable !== true || isKnown || performance.now() - beganMs < HEALTHY_MS) throw error;
      }
    };
    return { ...manager, start };
  });
}

// The order matters: a module must be replaced before one that uses it is loaded.
stopRetryingWhenClosed();
patchResponses();
// Patch 3: read_committed let records of aborted transactions through.
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
