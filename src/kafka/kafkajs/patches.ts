/**
 * kafkajs 2.2.4 with its known faults mended, in one place. Nothing else in the project loads kafkajs for its values.
 *
 * kafkajs has had no release since 2023, so the mends are made while it loads: faulty modules are replaced, and the rest is
 * loaded on top of them (kafkajs-internals.ts). Each mend says what is wrong, where, and which test shows it
 * (test/unit/kafka/kafkajs/patches.test.ts unless named otherwise).
 */
import type * as KafkaJs from 'kafkajs';
import { type PartitionData, PartitionFetch } from '../consumer/partition-fetch.ts';
import { patchConnections, preparedBy } from './connection-patches.ts';
import { patchErrors } from './error-patches.ts';
import {
  type ConsumerGroup,
  type CreateRetry,
  type Decoder,
  type EosManager,
  internal,
  loadKafkaJs,
  type RequestQueue,
  type Runner,
  replace,
} from './internals.ts';
import { keepLeaderless, nameLeaderless } from './leader-patches.ts';
import { sendWholeBatches, writeRequestsInPlace } from './produce-patches.ts';

export type { ConsumerGroup };
export { preparedBy };

/** What a socket factory throws once its client is closed (connect.ts). */
export const CLIENT_CLOSED = 'this Kafka client is closed';

/** Whether an error comes from a client that was closed on purpose. */
export function isClientClosed(error: unknown): boolean {
  for (let at = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth++) {
    if (at.message.includes(CLIENT_CLOSED)) return true;
  }
  return false;
}

/**
 * Mend 1: a closed client went on retrying (src/retry). Retries are timers that nothing can cancel: a producer closed while
 * its broker is down kept the process alive, and reconnected when the broker came back.
 */
function stopRetryingWhenClosed(): void {
  const createRetry = internal<CreateRetry>('retry/index.js');
  const mended: CreateRetry = (options) => {
    const retrier = createRetry(options);
    return (attempt) =>
      retrier((bail, count, time) =>
        attempt(bail, count, time).catch((error: unknown) => {
          if (!isClientClosed(error)) throw error;
          bail(error);
        }),
      );
  };
  replace('retry/index.js', mended);
}

/**
 * Mend 2: whatever stood in a batch could fail the fetch, and with it the consumer, the membership and all other partitions, time
 * and again (src/protocol/requests/fetch/v4/decodeMessages.js): a codec that is not known, damaged bytes, a bomb. Headers of
 * records became members of one object, copied for each: names that JavaScript knows came back as functions, and the time grew with
 * the square of their number. Offsets that a batch covers without records were lost. The bytes are handed on as they came:
 * records/ reads them. Tests: test/unit/kafka/records, test/integration/failures/hostile-records.test.ts.
 */
function handBytesOn(): void {
  replace(
    'protocol/requests/fetch/v4/decodeMessages.js',
    async (decoder: Decoder): Promise<PartitionData['messages']> => {
      const size = decoder.readInt32();
      return size > 0 && decoder.canReadBytes(size) ? decoder.readBytes(size) : NOTHING;
    },
  );
}

const NOTHING = Buffer.alloc(0);

/**
 * Mend 3: read_committed let records of aborted transactions through (src/consumer/filterAbortedMessages.js, used by
 * src/consumer/batch.js), and batches without visible records never reached the handler, so that nobody learned that the
 * log was passed. See partition-fetch.ts. Test: also test/integration/kafka/aborted-transactions.test.ts.
 */
function readCommittedOnly(): void {
  replace('consumer/batch.js', PartitionFetch);
}

/** Mend 4: a timer of negative length after every response (src/network/requestQueue): Node warns, and it does nothing. */
function noNegativeTimers(): void {
  const { prototype } = internal<{
    prototype: RequestQueue & { scheduleCheckPendingRequests(): void };
  }>('network/requestQueue/index.js');
  const CHECK_MS = 10;
  prototype.scheduleCheckPendingRequests = function (this: RequestQueue): void {
    if (this.pending.length === 0 || this.throttleCheckTimeoutId !== null) return;
    const throttledMs = this.throttledUntil - Date.now();
    this.throttleCheckTimeoutId = setTimeout(
      () => {
        this.throttleCheckTimeoutId = null;
        this.checkPendingRequests();
      },
      throttledMs > 0 ? throttledMs : CHECK_MS,
    );
  };
}

/** An assigner that also wants to know the consumer's inside. */
export interface AttachedAssigner extends KafkaJs.Assigner {
  /** Called once, before the first join. */
  attached(group: ConsumerGroup): void;
  /** A fetch was refused with OFFSET_OUT_OF_RANGE. Whoever is called decides where to read on; nothing was committed. */
  outOfRange(topic: string, partition: number): Promise<void>;
}

/** What the mends of ConsumerGroup need beside. */
interface ConsumerGroupInside extends ConsumerGroup {
  readonly cluster: { refreshMetadataIfNecessary(): Promise<void> };
  readonly subscriptionState: { active(): { partitions: number[] }[] };
  readonly maxWaitTime: number;
  checkForStaleAssignment(): void;
  recoverFromFetch(error: unknown): Promise<void>;
  fetch(nodeId: string): Promise<unknown[]>;
  resume(partitions: object[]): void;
  readonly assigners: readonly Partial<AttachedAssigner>[];
  connect(): Promise<void>;
  recoverFromOffsetOutOfRange(error: { topic: string; partition: number }): Promise<void>;
}

/**
 * Mend 7: an offset out of range made kafkajs commit -2 (or -1, and jump to the end) to the group, outside any transaction
 * and silently (src/consumer/consumerGroup.js recoverFromOffsetOutOfRange, offsetManager setDefaultOffset). Also lends the
 * ConsumerGroup to our assigner: the generation of a join is not in its event.
 * Test: test/integration/kafka/out-of-range.test.ts.
 */
function askWhenOutOfRange(): void {
  const { prototype } = internal<{ prototype: ConsumerGroupInside }>('consumer/consumerGroup.js');
  const { connect, recoverFromOffsetOutOfRange } = prototype;
  prototype.connect = function (this: ConsumerGroupInside): Promise<void> {
    for (const assigner of this.assigners) assigner.attached?.(this);
    return connect.call(this);
  };
  prototype.recoverFromOffsetOutOfRange = async function (
    this: ConsumerGroupInside,
    error,
  ): Promise<void> {
    const attached = this.assigners.find((assigner) => assigner.outOfRange !== undefined);
    if (attached?.outOfRange === undefined) return recoverFromOffsetOutOfRange.call(this, error);
    return attached.outOfRange(error.topic, error.partition);
  };
}

/**
 * Mend 10: with everything paused the fetch loop slept on after a resume (src/consumer/consumerGroup.js fetch), so that a
 * claim waited for nothing before it could replay its journal. Test: test/integration/kafka/group-positions.test.ts.
 */
function wakeOnResume(): void {
  const { prototype } = internal<{ prototype: ConsumerGroupInside }>('consumer/consumerGroup.js');
  const { fetch, resume } = prototype;
  const resumed = new WeakMap<ConsumerGroupInside, PromiseWithResolvers<void>>();
  prototype.resume = function (this: ConsumerGroupInside, partitions): void {
    resume.call(this, partitions);
    resumed.get(this)?.resolve();
    resumed.delete(this);
  };
  prototype.fetch = async function (this: ConsumerGroupInside, nodeId): Promise<unknown[]> {
    if (this.subscriptionState.active().some(({ partitions }) => partitions.length > 0))
      return fetch.call(this, nodeId);
    try {
      await this.cluster.refreshMetadataIfNecessary();
      this.checkForStaleAssignment();
    } catch (error) {
      await this.recoverFromFetch(error);
      return [];
    }
    const wake = resumed.get(this) ?? Promise.withResolvers<void>();
    resumed.set(this, wake);
    const timer = setTimeout(wake.resolve, this.maxWaitTime);
    await wake.promise;
    clearTimeout(timer);
    if (resumed.get(this) === wake) resumed.delete(this);
    return [];
  };
}

/** A fetch loop that ran this long was healthy: what fails after it is a new trouble, not one more of an old one. */
const HEALTHY_MS = 10_000;

/** Mend 8: errors were counted for ever (src/consumer/runner.js): six broken connections in a month crashed the consumer. */
function forgetOldErrors(): void {
  const { prototype } = internal<{ prototype: Runner }>('consumer/runner.js');
  const { isRebalancing } = internal<{ isRebalancing(error: unknown): boolean }>('errors.js');
  const { scheduleFetchManager } = prototype;
  const mended = new WeakSet<object>();
  prototype.scheduleFetchManager = function (this: Runner): void {
    const manager = this.fetchManager;
    if (!mended.has(manager)) {
      mended.add(manager);
      const start = manager.start;
      manager.start = async () => {
        const beganMs = Date.now();
        try {
          await start();
        } catch (error) {
          const kafkaError = error as { retriable?: boolean; type?: string; name?: string };
          const known = isRebalancing(error) || kafkaError.type === 'UNKNOWN_MEMBER_ID';
          const passing =
            kafkaError.retriable === true &&
            !known &&
            kafkaError.name !== 'KafkaJSNoBrokerAvailableError';
          // Returning makes the runner schedule itself anew, with a fresh count.
          if (!passing || Date.now() - beganMs < HEALTHY_MS) throw error;
        }
      };
    }
    scheduleFetchManager.call(this);
  };
}

const announced = new Map<string, ReadonlyMap<string, ReadonlySet<number>>>();

/** Tells which partitions (topic → partitions) the next transaction of this id will write to, before its first send. */
export function announcePartitions(
  transactionalId: string,
  partitions: ReadonlyMap<string, ReadonlySet<number>>,
): void {
  announced.set(transactionalId, partitions);
}

/**
 * Mend 9: every partition of a transaction cost two requests of its own, to find the coordinator and to add it
 * (src/producer/eosManager addPartitionsToTransaction): 200 partitions took most of a second. Those announced are added with
 * the first; one that was not announced is still added when it is written to.
 */
function addPartitionsAtOnce(): void {
  const createManager = internal<(options: { transactionalId?: string }) => EosManager>(
    'producer/eosManager/index.js',
  );
  replace('producer/eosManager/index.js', (options: { transactionalId?: string }): EosManager => {
    const manager = createManager(options);
    const id = options.transactionalId;
    if (id === undefined) return manager;
    const add = manager.addPartitionsToTransaction;
    manager.addPartitionsToTransaction = async (topics) => {
      const all = new Map(
        [...(announced.get(id) ?? [])].map(([topic, partitions]) => [topic, new Set(partitions)]),
      );
      for (const { topic, partitions } of topics) {
        const known = all.get(topic) ?? new Set();
        for (const { partition } of partitions) known.add(partition);
        all.set(topic, known);
      }
      const list = [...all].map(([topic, known]) => ({
        topic,
        partitions: [...known].map((partition) => ({ partition })),
      }));
      await add(list);
      announced.delete(id);
    };
    return manager;
  });
}

// The order matters: a module must be replaced before one that uses it is loaded.
stopRetryingWhenClosed();
handBytesOn();
keepLeaderless();
patchErrors();
readCommittedOnly();
noNegativeTimers();
sendWholeBatches();
writeRequestsInPlace();
askWhenOutOfRange();
wakeOnResume();
forgetOldErrors();
addPartitionsAtOnce();
patchConnections();
nameLeaderless();

/** kafkajs's own provider of a SCRAM login (src/broker/saslAuthenticator); security/login.ts is around it. */
export function scramProvider<Provider>(hash: 256 | 512, sasl: object): Provider {
  return internal<(sasl: object) => Provider>(`broker/saslAuthenticator/scram${hash}.js`)(sasl);
}

/** kafkajs's error for a code of the protocol (src/protocol/error). */
export function protocolError(code: number): Error {
  return internal<{ createErrorFromCode: (code: number) => Error }>(
    'protocol/error.js',
  ).createErrorFromCode(code);
}

const kafkajs = loadKafkaJs();
export const { AssignerProtocol, ConfigResourceTypes, Kafka, logLevel } = kafkajs;
