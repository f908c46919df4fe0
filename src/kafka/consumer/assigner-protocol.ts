/** Assigner in the form of kafkajs and the group protocol; assigner.ts decides. */
import type { GroupMember, GroupMemberAssignment, GroupState } from 'kafkajs';
import { AssignerProtocol, type AttachedAssigner } from '../kafkajs/patches.ts';
import type { KafkaCluster } from '../kafkajs/shapes.ts';
import {
  assignShards,
  decodeHistory,
  encodeHistory,
  type History,
  partitionsOfShards,
} from './assigner.ts';

/** Never changes: a member with another name cannot join a running group. */
export const PROTOCOL_NAME = 'content-review-shards';
const PROTOCOL_VERSION = 0;

interface AssignerOptions extends Pick<AttachedAssigner, 'attached' | 'fetched' | 'memberIds'> {
  readonly sourceTopic: string;
  readonly journalTopic: string;
  /** Name that members must share to join one group. Default: the connector's. */
  readonly protocol?: string | undefined;
  /** Shards of this member, when it joins. */
  history(): History | undefined;
}

export function createAssigner(
  cluster: Pick<KafkaCluster, 'findTopicPartitionMetadata'>,
  {
    sourceTopic,
    journalTopic,
    protocol: name = PROTOCOL_NAME,
    history,
    ...callbacks
  }: AssignerOptions,
): AttachedAssigner {
  return {
    ...callbacks,
    name,
    version: PROTOCOL_VERSION,

    protocol({ topics }): GroupState {
      const userData = encodeHistory(history());
      return {
        name,
        metadata: AssignerProtocol.MemberMetadata.encode({
          version: PROTOCOL_VERSION,
          topics,
          userData,
        }),
      };
    },

    async assign({ members }): Promise<GroupMemberAssignment[]> {
      const shardCount = cluster.findTopicPartitionMetadata(journalTopic).length;
      const sourcePartitions = cluster.findTopicPartitionMetadata(sourceTopic).length;
      const shards = assignShards(
        members.map((member) => ({ id: member.memberId, history: historyOf(member) })),
        shardCount,
      );
      return [...shards].map(([memberId, own]) => ({
        memberId,
        memberAssignment: AssignerProtocol.MemberAssignment.encode({
          version: PROTOCOL_VERSION,
          assignment: {
            [journalTopic]: own,
            [sourceTopic]: [...partitionsOfShards(own, shardCount, sourcePartitions).values()]
              .flat()
              .sort((a, b) => a - b),
          },
          userData: Buffer.alloc(0),
        }),
      }));
    },
  };
}

function historyOf({ memberMetadata }: GroupMember): History | undefined {
  try {
    return decodeHistory(AssignerProtocol.MemberMetadata.decode(memberMetadata)?.userData);
  } catch {
    return undefined;
  }
}
