/** Group protocol that all versions must share (docs/upgrading.md). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Cluster } from 'kafkajs';
import { createAssigner, type History } from '../../../src/kafka/consumer/assigner.ts';
import { AssignerProtocol } from '../../../src/kafka/kafkajs/patches.ts';

const cluster = {
  findTopicPartitionMetadata: (topic: string) => new Array(topic === 'journal' ? 2 : 4).fill({}),
} as unknown as Cluster;

const assigner = (history?: History) =>
  createAssigner(cluster, {
    sourceTopic: 'source',
    journalTopic: 'journal',
    history: () => history,
    memberIds: new Set(),
    attached: () => undefined,
    fetched: () => undefined,
  });

const memberOf = (memberId: string, userData: Buffer) => ({
  memberId,
  memberMetadata: AssignerProtocol.MemberMetadata.encode({
    version: 0,
    topics: ['journal', 'source'],
    userData,
  }),
});

test('every version joins with the same protocol name and the same form of its history', () => {
  const { name, version, protocol } = assigner({ generation: 7, shards: [0, 1] });
  assert.equal(name, 'content-review-shards');
  assert.equal(version, 0);
  const joined = protocol({ topics: ['journal', 'source'] });
  assert.equal(joined.name, name);
  const said = AssignerProtocol.MemberMetadata.decode(joined.metadata)?.userData;
  assert.equal(said?.toString(), '{"v":1,"generation":7,"shards":[0,1]}');
});

test('a member with an unreadable history gets its share like a member without history', async () => {
  const old = memberOf('a', Buffer.from('{"v":1,"generation":7,"shards":[1]}'));
  for (const history of ['{"v":2,"generation":9,"shards":[1]}', 'not JSON', '']) {
    const assigned = await assigner().assign({
      members: [memberOf('b', Buffer.from(history)), old],
      topics: [],
    } as never);
    const shards = assigned.map(({ memberId, memberAssignment }) => [
      memberId,
      AssignerProtocol.MemberAssignment.decode(memberAssignment)?.assignment,
    ]);
    assert.deepEqual(
      Object.fromEntries(shards),
      { a: { journal: [1], source: [1, 3] }, b: { journal: [0], source: [0, 2] } },
      history,
    );
  }
});
