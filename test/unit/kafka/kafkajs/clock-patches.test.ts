/** Patch 9: intervals of kafkajs when the wall clock jumps back or ahead. Each test fails without the patch. */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { describe, it, type TestContext } from 'node:test';
import '../../../../src/kafka/kafkajs/patches.ts';

const load = createRequire(import.meta.url);
const internal = <T>(file: string): T => load(`kafkajs/src/${file}`) as T;
const quiet = { debug() {}, info() {}, warn() {}, error() {}, namespace: () => quiet };
const HOUR = 3_600_000;
const STEPS = [-8 * HOUR, -HOUR, HOUR, 8 * HOUR];

/** Moves the wall clock ahead by `byMs` without letting time pass. */
function step(t: TestContext, byMs: number): void {
  const { now } = Date;
  t.mock.method(Date, 'now', () => now() + byMs);
}

interface Queue {
  readonly inflight: ReadonlyMap<number, unknown>;
  readonly pending: readonly unknown[];
  push(request: object): void;
  maybeThrottle(ms: number): void;
  scheduleRequestTimeoutCheck(): void;
  fulfillRequest(answer: object): void;
  destroy(): void;
}
const QueueClass = internal<new (options: object) => Queue>('network/requestQueue/index.js');

function queueOf() {
  const durations: number[] = [];
  const queue = new QueueClass({
    instrumentationEmitter: {
      emit: (_: string, { duration }: { duration?: number }) =>
        duration !== undefined && durations.push(duration),
    },
    maxInFlightRequests: null,
    requestTimeout: 20,
    enforceRequestTimeout: true,
    clientId: 'c',
    broker: 'b',
    logger: quiet,
  });
  const answers: Promise<unknown>[] = [];
  let sent = 0;
  return {
    queue,
    durations,
    sent: () => sent,
    push(correlationId: number): Promise<unknown> {
      const answer = Promise.withResolvers<unknown>();
      answer.promise.catch(() => undefined);
      answers.push(answer.promise);
      queue.push({
        entry: { correlationId, apiName: 'Fetch', ...answer },
        expectResponse: true,
        sendRequest: () => sent++,
      });
      return answer.promise;
    },
  };
}

describe('intervals of kafkajs', { concurrency: false }, () => {
  for (const byMs of STEPS) {
    const name = `${byMs < 0 ? 'back' : 'ahead'} by ${Math.abs(byMs) / HOUR} h`;

    it(`9: heartbeats continue when the clock is set ${name}`, async (t) => {
      const sent: object[] = [];
      const { group, emitted } = member(sent);
      await group.heartbeat({ interval: 0 });
      step(t, byMs);
      await group.heartbeat({ interval: 0 });
      assert.equal(sent.length, 2);
      await group.heartbeat({ interval: 3_000 });
      assert.equal(sent.length, 2, 'no heartbeat is due');
      assert.equal(emitted(), 2);
    });

    it(`9: requests time out, and a throttled connection sends again, when the clock is set ${name}`, async (t) => {
      const { queue, push, sent } = queueOf();
      const unanswered = push(1);
      queue.maybeThrottle(10);
      const throttled = push(2);
      assert.deepEqual([sent(), queue.pending.length], [1, 1]);
      step(t, byMs);
      queue.scheduleRequestTimeoutCheck();
      await assert.rejects(unanswered, { name: 'KafkaJSRequestTimeoutError' });
      await assert.rejects(throttled, { name: 'KafkaJSRequestTimeoutError' });
      assert.equal(sent(), 2);
      queue.destroy();
    });

    it(`9: the measured duration of a request is correct when the clock is set ${name}`, async (t) => {
      const { queue, push, durations } = queueOf();
      const answered = push(1);
      step(t, byMs);
      queue.fulfillRequest({ correlationId: 1, size: 0, payload: null });
      await answered;
      assert.equal(durations.length, 1);
      assert.ok((durations[0] ?? -1) >= 0 && (durations[0] ?? HOUR) < HOUR / 2);
      queue.destroy();
    });

    it(`9: metadata is refreshed at its maximum age when the clock is set ${name}`, async (t) => {
      const { pool, refreshes } = brokers(40);
      await pool.refreshMetadata([]);
      step(t, byMs);
      await pool.refreshMetadataIfNecessary([]);
      assert.equal(refreshes(), 1, 'the metadata is not old enough');
      const sinceMs = performance.now();
      while (performance.now() - sinceMs <= 41) await new Promise(setImmediate);
      await pool.refreshMetadataIfNecessary([]);
      assert.equal(refreshes(), 2);
    });
  }
});

interface Group {
  heartbeat(options: { interval: number }): Promise<void>;
}

function member(sent: object[]) {
  let emitted = 0;
  const GroupClass = internal<new (options: object) => Group>('consumer/consumerGroup.js');
  const group = new GroupClass({
    logger: quiet,
    retry: {},
    topics: [],
    groupId: 'g',
    instrumentationEmitter: { emit: () => emitted++ },
  });
  const coordinator = {
    heartbeat: async (payload: object) => {
      sent.push(payload);
    },
  };
  Object.assign(group, { memberId: 'm', generationId: 1, coordinator });
  return { group, emitted: () => emitted };
}

function brokers(metadataMaxAge: number) {
  interface Pool {
    refreshMetadata(topics: readonly string[]): Promise<void>;
    refreshMetadataIfNecessary(topics: readonly string[]): Promise<void>;
  }
  const PoolClass = internal<new (options: object) => Pool>('cluster/brokerPool.js');
  let refreshes = 0;
  const pool = new PoolClass({ logger: quiet, retry: { retries: 0 }, metadataMaxAge });
  Object.assign(pool, {
    seedBroker: { connectionPool: { host: 'h', port: 1 } },
    findConnectedBroker: async () => ({
      metadata: async () => {
        refreshes++;
        return { brokers: [], topicMetadata: [] };
      },
    }),
  });
  return { pool, refreshes: () => refreshes };
}
