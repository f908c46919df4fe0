/** Each test fails without its patch in src/kafka/kafkajs/join-patches.ts. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { internal } from '../../../../src/kafka/kafkajs/internals.ts';
import '../../../../src/kafka/kafkajs/patches.ts';
import type { ProtocolErrors } from '../../../../src/kafka/kafkajs/shapes.ts';

const logger = { debug() {}, info() {}, warn() {}, error() {}, namespace: () => logger };
const UNKNOWN_MEMBER_ID = 25;
const LOADING = 14;
const MEMBER_ID_REQUIRED = 79;

interface Group {
  memberId: string | null;
  joinAndSync(): Promise<void>;
  fetch(nodeId: string): Promise<unknown>;
}
const GroupClass = internal<new (options: object) => Group>('consumer/consumerGroup.js');
const BrokerClass = internal<new (options: object) => object>('broker/index.js');
const requests = internal<{ lookup(versions: object): unknown }>('protocol/requests/index.js');
const { createErrorFromCode } = internal<ProtocolErrors>('protocol/error.js');
const { KafkaJSMemberIdRequired } = internal<{
  KafkaJSMemberIdRequired: new (error: Error, given: { memberId: string }) => Error;
}>('errors.js');

type Answer = (request: { apiName: string; body: string }) => object;

/**
 * Returns a group with scripted responses of its coordinator, and the group's requests: the name of each request and
 * the member ids in its bytes.
 */
function groupWith(answer: Answer, memberIds: Set<string>) {
  const sent: string[] = [];
  const send = async ({
    request,
  }: {
    request: { apiName: string; encode(): Promise<{ buffer: Buffer }> };
  }) => {
    const body = (await request.encode()).buffer.toString('latin1');
    sent.push([request.apiName, ...(body.match(/id-\w+/g) ?? [])].join(' '));
    return answer({ apiName: request.apiName, body });
  };
  const coordinator = Object.assign(
    new BrokerClass({ connectionPool: { host: 'h', port: 1, connectionTimeout: 1, send }, logger }),
    {
      lookupRequest: requests.lookup({
        11: { minVersion: 0, maxVersion: 5 },
        13: { minVersion: 0, maxVersion: 3 },
        14: { minVersion: 0, maxVersion: 3 },
      }),
    },
  );
  const assigner = {
    name: 'a',
    version: 0,
    memberIds,
    assign: async () => [],
    protocol: () => ({ name: 'a', metadata: Buffer.alloc(0) }),
  };
  const group = new GroupClass({
    logger,
    cluster: {
      findGroupCoordinator: async () => coordinator,
      findTopicPartitionMetadata: () => [],
      refreshMetadata: async () => undefined,
      committedOffsets: () => ({}),
    },
    retry: { initialRetryTime: 1, retries: 3 },
    groupId: 'group',
    topics: [],
    topicConfigurations: {},
    assigners: [assigner],
    instrumentationEmitter: { emit: () => undefined },
    sessionTimeout: 1_000,
    rebalanceTimeout: 1_000,
  });
  return { group, sent };
}

const joinedAs = (memberId: string) => ({
  generationId: 1,
  leaderId: memberId,
  memberId,
  members: [],
  groupProtocol: 'a',
});
const assignment = { memberAssignment: Buffer.alloc(0) };

describe('patches of joins in kafkajs', () => {
  it('20: a failed join is repeated before the next fetch', async () => {
    let answered = 0;
    const { group } = groupWith(() => {
      answered++;
      throw createErrorFromCode(LOADING);
    }, new Set());
    await assert.rejects(group.joinAndSync(), { type: 'GROUP_LOAD_IN_PROGRESS' });
    assert.equal(answered, 1);
    await assert.rejects(group.fetch('1'), { type: 'REBALANCE_IN_PROGRESS' });
  });

  it('21: earlier members of this client leave before it joins, and unknown members count as gone', async () => {
    const memberIds = new Set(['id-old', 'id-unknown']);
    const { group, sent } = groupWith(({ apiName, body }) => {
      if (body.includes('id-unknown')) throw createErrorFromCode(UNKNOWN_MEMBER_ID);
      return apiName === 'JoinGroup' ? joinedAs('id-new') : assignment;
    }, memberIds);
    await group.joinAndSync();
    assert.deepEqual(sent.slice(0, 3), ['LeaveGroup id-old', 'LeaveGroup id-unknown', 'JoinGroup']);
    assert.deepEqual([...memberIds], ['id-new']);
  });

  it('21: a repeated join uses the member id that the coordinator has assigned', async () => {
    const memberIds = new Set<string>();
    let joins = 0;
    const { group, sent } = groupWith(({ apiName }) => {
      if (apiName !== 'JoinGroup') return assignment;
      joins++;
      if (joins === 1)
        throw new KafkaJSMemberIdRequired(createErrorFromCode(MEMBER_ID_REQUIRED), {
          memberId: 'id-given',
        });
      if (joins === 2) throw new Error('connection lost');
      return joinedAs('id-given');
    }, memberIds);
    await assert.rejects(group.joinAndSync(), /connection lost/);
    assert.deepEqual([...memberIds], ['id-given']);
    await group.joinAndSync();
    assert.deepEqual(sent.slice(0, 3), ['JoinGroup', 'JoinGroup id-given', 'JoinGroup id-given']);
  });
});
