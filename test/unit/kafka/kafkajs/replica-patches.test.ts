/** Patch 23 of kafkajs: choice of the broker for each fetch of a partition, with or without the rack. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { internal } from '../../../../src/kafka/kafkajs/internals.ts';
import '../../../../src/kafka/kafkajs/patches.ts';
import { REPLICA_RESPONSE_MS } from '../../../../src/kafka/kafkajs/replica-patches.ts';
import type { ProtocolErrors } from '../../../../src/kafka/kafkajs/shapes.ts';

const { prototype } = internal<{ prototype: object }>('consumer/consumerGroup.js');
const { createErrorFromCode } = internal<ProtocolErrors>('protocol/error.js');

const [LEADER, NEAR] = [1, 2];
/** Responses of the replica, by its fault. */
const FAULTS: Readonly<Record<string, () => object | Promise<never>>> = {
  'returns OFFSET_OUT_OF_RANGE': () => ({ failure: createErrorFromCode(1) }),
  'returns OFFSET_NOT_AVAILABLE': () => ({ failure: createErrorFromCode(78) }),
  'closes the connection': () => Promise.reject(new Error('Closed connection')),
  'does not respond': () => new Promise<never>(() => undefined),
};

/** Group that reads partition 0 at offset 7. Broker 1 leads it, and names broker 2 to clients with a rack. */
function group(t: TestContext, rackId: string) {
  const world = {
    nowMs: 1_000,
    fault: (): object | Promise<never> => ({}),
    offline: [] as number[],
    nodes: [LEADER, NEAR],
    leaderEnd: '7',
    named: NEAR,
    reported: [] as object[],
    throttledUntil: -1,
  };
  t.mock.method(performance, 'now', () => world.nowMs);
  const asked: string[] = [];
  const fetch = async (node: number, rack: string) => {
    asked.push(`${node === LEADER ? 'leader' : 'replica'}${rack === '' ? ' without rack' : ''}`);
    const data = {
      partition: 0,
      highWatermark: node === LEADER ? world.leaderEnd : '7',
      preferredReadReplica: node === LEADER && rack !== '' ? world.named : -1,
      messages: Buffer.alloc(0),
      ...(node === NEAR ? await world.fault() : {}),
    };
    return { responses: [{ topicName: 'events', partitions: [data] }] };
  };
  const assigned = () => [{ topic: 'events', partitions: [0] }];
  const member = Object.assign(Object.create(prototype), {
    rackId,
    logger: { info() {}, warn() {}, debug() {} },
    assigners: [{ fetched: (fetches: object[]) => world.reported.push(...fetches) }],
    preferredReadReplicasPerTopicPartition: {},
    seekOffset: { has: () => false, pop: () => undefined },
    subscriptionState: { assigned, active: assigned, isPaused: () => false },
    offsetManager: {
      committedOffsets: () => ({ events: { 0: '7' } }),
      nextOffset: () => '7',
      resolveOffsets: async () => undefined,
    },
    checkForStaleAssignment() {},
    cluster: {
      refreshMetadataIfNecessary: async () => undefined,
      findTopicPartitionMetadata: () => [
        { partitionId: 0, leader: LEADER, offlineReplicas: world.offline },
      ],
      getNodeIds: () => world.nodes.map(String),
      brokerPool: {
        brokers: { [NEAR]: { connectionPool: { pool: [{ requestQueue: world }] } } },
      },
      findBroker: async ({ nodeId }: { nodeId: string }) => ({
        fetch: (request: { rackId: string }) => fetch(Number(nodeId), request.rackId),
      }),
    },
  });
  /** Fetches from both brokers, as the fetch loop does. @returns the brokers that received a fetch */
  const round = async (maxWaitTime = 1) => {
    asked.length = world.reported.length = 0;
    await Object.assign(member, { maxWaitTime: 1 }).fetch(String(LEADER));
    await Object.assign(member, { maxWaitTime }).fetch(String(NEAR));
    return asked.slice();
  };
  return { world, round };
}

describe('23: a group with a rack', () => {
  it('reads from the replica that the leader names, and fetches from the leader again after five seconds', async (t) => {
    const { world, round } = group(t, 'zone-2');
    assert.deepEqual(await round(), ['leader', 'replica']);
    assert.deepEqual(await round(), ['replica']);
    world.nowMs += 5_000;
    assert.deepEqual(await round(), ['leader', 'replica']);
  });

  for (const [name, fault] of Object.entries(FAULTS)) {
    it(`reads from the leader for a minute if the replica ${name}`, async (t) => {
      const { world, round } = group(t, 'zone-2');
      await round();
      world.fault = fault;
      // The wait for the response is 5 s longer than the wait for records.
      assert.deepEqual(await round(20 - REPLICA_RESPONSE_MS), ['replica']);
      assert.deepEqual(world.reported, [], 'the failure does not count for the partition');
      world.nowMs += 59_999;
      assert.deepEqual(await round(), ['leader without rack']);
      world.nowMs += 1;
      world.fault = () => ({});
      assert.deepEqual(await round(), ['leader', 'replica']);
    });
  }

  it('reads from the leader if the replica lacks records that the leader had two seconds ago', async (t) => {
    const { world, round } = group(t, 'zone-2');
    world.leaderEnd = '8';
    await round();
    world.nowMs += 2_000;
    await round();
    world.nowMs += 1;
    assert.deepEqual(await round(), ['replica']);
    assert.deepEqual(await round(), ['leader without rack']);
  });

  it('reads on from a replica that has records, but no room for them in its response', async (t) => {
    const { world, round } = group(t, 'zone-2');
    world.leaderEnd = '8';
    world.fault = () => ({ highWatermark: '8' });
    await round();
    world.nowMs += 2_001;
    await round();
    assert.deepEqual(await round(), ['replica']);
  });

  it('waits for a replica that throttles this client', async (t) => {
    const { world, round } = group(t, 'zone-2');
    await round();
    world.throttledUntil = world.nowMs + 60_000;
    world.fault = () => sleep(40, {});
    await round(20 - REPLICA_RESPONSE_MS);
    assert.deepEqual(await round(), ['replica']);
  });

  it('reads from the leader without the rack if the leader names itself', async (t) => {
    const { world, round } = group(t, 'zone-2');
    world.named = LEADER;
    assert.deepEqual(await round(), ['leader']);
    assert.deepEqual(await round(), ['leader without rack']);
  });

  it('reads from the leader if the replica is offline, or its broker has left the cluster', async (t) => {
    for (const change of [{ offline: [NEAR] }, { nodes: [LEADER] }]) {
      const { world, round } = group(t, 'zone-2');
      await round();
      Object.assign(world, change);
      assert.deepEqual(await round(), ['leader without rack']);
      t.mock.restoreAll();
    }
  });
});

it('23: a group without a rack reads from leaders', async (t) => {
  assert.deepEqual(await group(t, '').round(), ['leader without rack']);
});
