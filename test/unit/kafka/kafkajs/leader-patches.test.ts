/** Patch 19 of kafkajs. Each test fails without its part of src/kafka/kafkajs/leader-patches.ts. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { internal } from '../../../../src/kafka/kafkajs/internals.ts';
import '../../../../src/kafka/kafkajs/patches.ts';
import { explain } from '../../../../src/kafka/errors.ts';

interface Response {
  parse(data: object): Promise<typeof ANSWER>;
}
interface BrokerPool {
  metadata: object | null;
  metadataExpireAt: number;
  refreshMetadata(topics: readonly string[]): Promise<unknown>;
}
interface Cluster {
  readonly prototype: {
    findLeaderForPartitions(topic: string, partitions: readonly number[]): object;
    fetchTopicsOffset(topics: readonly object[]): Promise<unknown>;
  };
}

const quiet = { debug() {}, info() {}, warn() {}, error() {}, namespace: () => quiet };
const partition = (partitionId: number, leader: number, partitionErrorCode = 0) => ({
  partitionErrorCode,
  partitionId,
  leader,
});
/** Metadata response. Code 5 is LEADER_NOT_AVAILABLE, 72 is LISTENER_NOT_FOUND. */
const ANSWER = {
  brokers: [],
  topicMetadata: [
    {
      topic: 'events',
      topicErrorCode: 0,
      partitionMetadata: [partition(0, 1), partition(1, -1, 5), partition(2, 3, 72)],
    },
  ],
};
const LED = {
  ...ANSWER,
  topicMetadata: [{ topic: 'events', topicErrorCode: 0, partitionMetadata: [partition(0, 1)] }],
};

describe('kafkajs, patched', () => {
  for (const version of [0, 3, 4, 6]) {
    it(`19: a metadata response (version ${version}) keeps partitions without a leader next to other partitions`, async () => {
      const response = internal<Response>(`protocol/requests/metadata/v${version}/response.js`);
      const { topicMetadata } = await response.parse(ANSWER);
      assert.deepEqual(
        topicMetadata[0]?.partitionMetadata.map(({ partitionId, leader }) => [partitionId, leader]),
        [
          [0, 1],
          [1, -1],
          [2, -1],
        ],
      );
    });
  }

  const parsed = internal<Response>('protocol/requests/metadata/v6/response.js').parse(ANSWER);
  const { prototype } = internal<Cluster>('cluster/index.js');

  it('19: a request that requires a leader fails with the partition and the remedy, and can be retried', async () => {
    const cluster = Object.assign(Object.create(prototype), {
      brokerPool: { metadata: await parsed },
    });
    assert.deepEqual(cluster.findLeaderForPartitions('events', [0]), { 1: [0] });
    assert.throws(
      () => cluster.findLeaderForPartitions('events', [0, 1]),
      (error: Error & { retriable?: boolean }) => {
        assert.equal(error.retriable, true);
        assert.match(
          explain(error),
          /LEADER_NOT_AVAILABLE: partition 1 of topic events has no leader; start the broker/,
        );
        return true;
      },
    );
  });

  it('19: a consumer gets the positions of all partitions that have a leader', async () => {
    const asked: unknown[] = [];
    const listOffsets = async (request: { topics: readonly object[] }) => {
      asked.push(...request.topics);
      return { responses: [{ topic: 'events', partitions: [{ partition: 0, offset: '7' }] }] };
    };
    const cluster = Object.assign(Object.create(prototype), {
      brokerPool: { metadata: await parsed, findBroker: async () => ({ listOffsets }) },
    });
    const wanted = (partitions: number[]) => [
      {
        topic: 'events',
        partitions: partitions.map((one) => ({ partition: one })),
        fromBeginning: true,
      },
    ];
    assert.deepEqual(await cluster.fetchTopicsOffset(wanted([0, 1, 2])), [
      { topic: 'events', partitions: [{ partition: 0, offset: '7' }] },
    ]);
    assert.deepEqual(asked, [{ topic: 'events', partitions: [{ partition: 0, timestamp: -2 }] }]);
    assert.deepEqual(await cluster.fetchTopicsOffset(wanted([2])), [
      { topic: 'events', partitions: [] },
    ]);
  });

  it('19: metadata that contains a partition without a leader is refreshed within two seconds', async () => {
    const BrokerPoolClass = internal<new (options: object) => BrokerPool>('cluster/brokerPool.js');
    const pool = new BrokerPoolClass({
      logger: quiet,
      metadataMaxAge: 300_000,
      connectionPoolBuilder: {},
    });
    let answer: object = await parsed;
    const broker = {
      isConnected: () => true,
      metadata: async () => answer,
      disconnect: async () => undefined,
    };
    const seed = Object.assign(broker, { connectionPool: { host: 'a', port: 1 } });
    Object.assign(pool, { seedBroker: seed, findConnectedBroker: async () => broker });
    const nowMs = performance.now();
    await pool.refreshMetadata(['events']);
    assert.ok(pool.metadataExpireAt - nowMs <= 2_000, String(pool.metadataExpireAt - nowMs));
    answer = LED;
    await pool.refreshMetadata(['events']);
    assert.ok(pool.metadataExpireAt - nowMs >= 300_000);
  });
});
