/** Patches 20 and 21 of docs/internals/kafkajs.md: joins of a consumer group. */
import type { Assigner } from 'kafkajs';
import { protocolErrorOf } from '../errors.ts';
import { internal } from './internals.ts';
import type { ConsumerGroup, KafkaBroker, KafkaCluster, ProtocolErrors } from './shapes.ts';

interface JoinedGroup {
  readonly generationId: number;
  readonly leaderId: string;
  readonly memberId: string;
  readonly members: readonly object[];
  readonly groupProtocol: string;
}
interface Coordinator extends KafkaBroker {
  joinGroup(request: object): Promise<JoinedGroup>;
  /** Returns the encoder for a request. */
  lookupRequest(apiKey: number, versions: object): (request: { memberId: string }) => object;
}
/** Assigner that also has the member ids of its client. */
export interface MemberAssigner extends Assigner {
  /** Current and earlier member ids of this client, across sessions. */
  readonly memberIds: Set<string>;
}
interface JoiningGroup extends ConsumerGroup {
  readonly groupId: string;
  readonly sessionTimeout: number;
  readonly rebalanceTimeout: number;
  readonly topicsSubscribed: string[];
  readonly assigners: readonly (Assigner & Partial<MemberAssigner>)[];
  readonly cluster: KafkaCluster;
  memberId: string | null;
  coordinator: KafkaBroker;
  fetch(nodeId: string): Promise<unknown>;
  joinAndSync(): Promise<void>;
  [join: symbol]: () => Promise<void>;
}

/** Error code of the group protocol. */
const REBALANCE_IN_PROGRESS = 27;

/** Groups with a join in progress. */
export const joining = new WeakSet<object>();

export function patchJoins(): void {
  const { prototype } = internal<{ prototype: JoiningGroup }>('consumer/consumerGroup.js');
  const { createErrorFromCode } = internal<ProtocolErrors>('protocol/error.js');
  const { fetch, joinAndSync } = prototype;

  // 20: repeats a failed join before the next fetch.
  const outside = new WeakSet<JoiningGroup>();
  prototype.joinAndSync = async function () {
    joining.add(this);
    try {
      await joinAndSync.call(this);
      outside.delete(this);
    } catch (error) {
      outside.add(this);
      throw error;
    } finally {
      joining.delete(this);
    }
  };
  prototype.fetch = async function (nodeId) {
    // On this error, kafkajs's runner joins the group again.
    if (outside.has(this)) throw createErrorFromCode(REBALANCE_IN_PROGRESS);
    return await fetch.call(this, nodeId);
  };

  // 21: before a join, removes earlier members of this client. If the join is repeated, keeps the assigned id.
  const [JOIN] = Object.getOwnPropertySymbols(prototype).filter(
    ({ description }) => description === 'private:ConsumerGroup:join',
  );
  if (JOIN === undefined) throw new Error('kafkajs has no method ConsumerGroup.join to patch');
  prototype[JOIN] = async function (this: JoiningGroup) {
    const { groupId, sessionTimeout, rebalanceTimeout, topicsSubscribed: topics } = this;
    const coordinator = (await this.cluster.findGroupCoordinator({ groupId })) as Coordinator;
    this.coordinator = coordinator;
    const { memberIds = new Set<string>() } = this.assigners[0] ?? {};
    await leaveAs([...memberIds].filter((id) => id !== this.memberId));
    // `joinGroup` repeats its request with the id that the coordinator assigned, but does not store
    // the id in this group.
    const lookupRequest: Coordinator['lookupRequest'] = (apiKey, versions) => (request) => {
      if (request.memberId !== '') {
        memberIds.add(request.memberId);
        this.memberId = request.memberId;
      }
      return coordinator.lookupRequest(apiKey, versions)(request);
    };
    const noticing: Coordinator = Object.create(coordinator, {
      lookupRequest: { value: lookupRequest },
    });
    const joined = await noticing.joinGroup({
      groupId,
      sessionTimeout,
      rebalanceTimeout,
      memberId: this.memberId ?? '',
      groupProtocols: this.assigners.map((assigner) => assigner.protocol({ topics })),
    });
    const { generationId, leaderId, memberId, members, groupProtocol } = joined;
    memberIds.add(memberId);
    Object.assign(this, { generationId, leaderId, memberId, members, groupProtocol });

    async function leaveAs(ids: readonly string[]) {
      for (const id of ids) {
        await coordinator.leaveGroup({ groupId, memberId: id }).catch((error: unknown) => {
          if (protocolErrorOf(error) !== 'UNKNOWN_MEMBER_ID') throw error;
        });
        memberIds.delete(id);
      }
    }
  };
}
