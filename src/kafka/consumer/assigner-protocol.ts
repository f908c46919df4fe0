/** The assigner as kafkajs and the group protocol want it (assigner.ts decides). */
import type { GroupMember, GroupMemberAssignment, GroupState } from 'kafkajs';
import { AssignerProtocol, type AttachedAssigner } from '../kafkajs/patches.ts';
import type { ConsumerGroup, KafkaCluster } from '../kafkajs/shapes.ts';
import {
  assignShards,
  decodeHistory,
  encodeHistory,
  type History,
  partitionsOfShards,
} from './assigner.ts';

/** Never changes: a member with another name cannot join the group of those that still have this one. */
export const PROTOCOL_NAME = 'content-review-shards';
const PROTOCOL_VERSION = 0;

export interface AssignerOptions {
  readonly sourceTopic: string;
  readonly journalTopic: string;
  /** What this member owns, when it joins. */
  history(): History | undefined;
  attached(group: ConsumerGroup): void;
  outOfRange(topic: string, partition: number): Promise<void>;
}

export function createAssigner(
  cluster: Pick<KafkaCluster, 'findTopicPartitionMetadata'>,
  options: AssignerOptions,
): AttachedAssigner {
  const { sourceTopic, journalTopic } = options;
  return {
    name: PROTOCOL_NAME,
    version: PROTOCOL_VERSION,
    attached: (group) => options.attached(group),
    outOfRange: (topic, partition) => options.outOfRange(topic, partition),

    protocol({ topics }): GroupState {
      const userData = encodeHistory(options.history());
      return {
        name: PROTOCOL_NAME,
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
