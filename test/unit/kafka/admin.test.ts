/** Tests the admin with incomplete responses. It must fail if a response lacks the requested data. */
import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { KafkaAdmin } from '../../../src/kafka/admin/admin.ts';
import { internal } from '../../../src/kafka/kafkajs/internals.ts';
import { RecordingLogger } from '../../support/memory/telemetry/recording-telemetry.ts';

const { prototype: cluster } = internal<{ prototype: object }>('cluster/index.js');
const { prototype: pool } = internal<{ prototype: object }>('cluster/brokerPool.js');

const connection = { host: 'b', port: 1, isConnected: () => true };
const partition = { partitionErrorCode: 0, partitionId: 0, leader: 1, replicas: [1], isr: [1] };

describe('the admin', () => {
  let held = Promise.resolve();
  const broker = {
    connectionPool: connection,
    isConnected: () => true,
    disconnect: async () => {},
    metadata: async (topics: readonly string[]) => {
      const answer = {
        brokers: [{ nodeId: 1, host: 'b', port: 1, rack: null }],
        controllerId: 1,
        topicMetadata: topics.map((topic) => ({
          topic,
          topicErrorCode: 0,
          partitionMetadata: [partition],
        })),
      };
      const waiting = held;
      held = Promise.resolve();
      await waiting;
      return answer;
    },
    describeConfigs: async () => ({ resources: [] }),
    listOffsets: async () => ({ responses: [{ partitions: [] }] }),
    offsetFetch: async () => ({ responses: [{ partitions: [] }] }),
  };
  const admin = () => new KafkaAdmin({ brokers: ['b:1'], clientId: 'c' }, new RecordingLogger());

  beforeEach(() => {
    Object.assign(pool, {
      connect: async function (this: { seedBroker: object }) {
        this.seedBroker = broker;
      },
      findConnectedBroker: async () => broker,
      findBroker: async () => broker,
    });
    Object.assign(cluster, { findGroupCoordinator: async () => broker });
  });

  it('finds the partitions of a topic although an earlier refresh without that topic ends last', async () => {
    const one = admin();
    const slow = Promise.withResolvers<void>();
    held = slow.promise;
    const committed = one.committed('group', 'in', []);
    await new Promise(setImmediate);
    const writable = one.writable('out');
    setTimeout(slow.resolve, 20);
    assert.deepEqual(await writable, { partitions: 1, maxMessageBytes: undefined });
    await committed;
    await one.close();
  });

  it('fails if a response lacks a partition', async () => {
    const one = admin();
    const missing = /the brokers returned no offset for partition 0 of topic in$/;
    await assert.rejects(one.ranges('in', [0]), missing);
    await assert.rejects(one.committed('group', 'in', [0]), missing);
    await one.close();
  });
});
