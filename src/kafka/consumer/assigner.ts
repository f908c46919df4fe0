/**
 * Assignment of shards to members. The numbers of shards of two members differ by at most one;
 * apart from that, shards stay where they are. A pure function: every member would compute the same
 * result, although only the group's leader runs it.
 */
import type { GroupMember, GroupMemberAssignment, GroupState } from 'kafkajs';
import { tryParseJson } from '../../../packages/client/src/base/json/parse-json.ts';
import { orUndefined } from '../../../packages/client/src/base/result.ts';
import { AssignerProtocol, type AttachedAssigner } from '../kafkajs/patches.ts';
import type { KafkaCluster } from '../kafkajs/shapes.ts';

// Assigner in the form that kafkajs and the group protocol require.

/** Must never change: a member whose protocol has another name cannot join a running group. */
export const PROTOCOL_NAME = 'content-review-shards';
const PROTOCOL_VERSION = 0;

interface AssignerOptions extends Pick<AttachedAssigner, 'attached' | 'fetched' | 'memberIds'> {
  readonly sourceTopic: string;
  readonly journalTopic: string;
  /** Name that all members of a group must share. Default: the connector's. */
  readonly protocol?: string | undefined;
  /** Returns the shards of this member at the time of the join. */
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

const historyOf = ({ memberMetadata }: GroupMember): History | undefined =>
  orUndefined(() =>
    decodeHistory(AssignerProtocol.MemberMetadata.decode(memberMetadata)?.userData),
  );

/** Member of the group, with the shards that it last had and the generation of that assignment. */
export interface Member {
  readonly id: string;
  /** undefined for a new member, or one whose history cannot be read. */
  readonly history: History | undefined;
}

export interface History {
  readonly generation: number;
  readonly shards: readonly number[];
}

/**
 * Assigns shards 0…count-1. If several members report the same shard, the one with the latest
 * generation keeps it, because the others missed a rebalance.
 * @returns the shards of every member, ascending
 */
export function assignShards(members: readonly Member[], count: number): Map<string, number[]> {
  const ordered = [...members].sort((a, b) => compare(a.id, b.id));
  const owned = new Map<string, number[]>(ordered.map(({ id }) => [id, []]));
  const free: number[] = [];
  for (const [shard, id] of ownersByShard(ordered, count).entries())
    (id === undefined ? free : owned.get(id))?.push(shard);

  // Members that have the most shards keep the larger share, so that as few shards as possible move.
  const bySize = [...owned].sort(([a, ofA], [b, ofB]) => ofB.length - ofA.length || compare(a, b));
  const share = Math.floor(count / ordered.length);
  const larger = count % ordered.length;
  const quotas = new Map(
    bySize.map(([, shards], rank) => [shards, rank < larger ? share + 1 : share]),
  );
  for (const [shards, quota] of quotas) free.push(...shards.splice(quota));

  free.sort((a, b) => a - b);
  for (const shards of owned.values()) {
    shards.push(...free.splice(0, (quotas.get(shards) ?? 0) - shards.length));
    shards.sort((a, b) => a - b);
  }
  return owned;
}

function ownersByShard(members: readonly Member[], count: number): (string | undefined)[] {
  const owners = new Array<string | undefined>(count).fill(undefined);
  const generation = (member: Member) => member.history?.generation ?? 0;
  // Later entries overwrite earlier ones, so the latest generation and its lowest id win.
  const byAge = [...members].sort((a, b) => generation(a) - generation(b) || compare(b.id, a.id));
  for (const { id, history } of byAge)
    for (const shard of history?.shards ?? []) if (shard < count) owners[shard] = id;
  return owners;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Version of the history that members exchange. A history with any other version is ignored. */
const HISTORY_VERSION = 1;

export function encodeHistory(history: History | undefined): Buffer {
  return Buffer.from(history ? JSON.stringify({ v: HISTORY_VERSION, ...history }) : '');
}

/** Returns undefined for bytes that are not a history of this version. */
export function decodeHistory(bytes: Buffer | null | undefined): History | undefined {
  const { v, generation, shards } = Object(tryParseJson(String(bytes)));
  if (v !== HISTORY_VERSION || !Number.isSafeInteger(generation)) return undefined;
  const isShard = (shard: unknown) => Number.isSafeInteger(shard) && (shard as number) >= 0;
  return Array.isArray(shards) && shards.every(isShard) ? { generation, shards } : undefined;
}

/** Returns the source partitions of each shard. Partition p belongs to shard p mod shardCount. */
export function partitionsOfShards(
  shards: readonly number[],
  shardCount: number,
  sourcePartitions: number,
): Map<number, number[]> {
  const result = new Map<number, number[]>(
    [...shards].sort((a, b) => a - b).map((shard) => [shard, []]),
  );
  for (let partition = 0; partition < sourcePartitions; partition++)
    result.get(partition % shardCount)?.push(partition);
  return result;
}
