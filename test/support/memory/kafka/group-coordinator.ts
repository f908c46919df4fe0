/**
 * Broker's side of one consumer group in the classic protocol: session timeouts, stop-the-world rebalances and
 * generations. All calls take effect immediately; members call it through the network.
 */
import type { Clock } from '../../../../packages/client/src/base/clock.ts';
import { BrokerError } from './broker-error.ts';
import { assignShards } from './shard-assignment.ts';

export interface GroupSettings {
  readonly sessionTimeoutMs: number;
  /** Time that a rebalance waits for a member that sends heartbeats but does not rejoin. */
  readonly rebalanceTimeoutMs: number;
}

/** Result of a rebalance for one member. */
export interface Generation {
  readonly generation: number;
  readonly shards: readonly number[];
}

interface Member {
  /** Callback of the member's JoinGroup, or undefined if the member has not joined the current rebalance. */
  joining: ((generation: Generation) => void) | undefined;
  generation: number;
  cancelSession: () => void;
}

export class GroupCoordinator {
  readonly #clock: Clock;
  readonly #settings: GroupSettings;
  readonly #shardCount: () => number;
  readonly #members = new Map<string, Member>();
  /** Shard → its current or last member. */
  readonly #owners = new Map<number, string>();
  #generation = 0;
  #rebalancing = false;
  #cancelRebalanceTimeout = () => {};

  constructor(clock: Clock, settings: GroupSettings, shardCount: () => number) {
    this.#clock = clock;
    this.#settings = settings;
    this.#shardCount = shardCount;
  }

  get generation(): number {
    return this.#generation;
  }

  /** Member ids, in the order in which they first joined. */
  members(): string[] {
    return [...this.#members.keys()];
  }

  /** Shard → member in the current generation. */
  owners(): ReadonlyMap<number, string> {
    return this.#owners;
  }

  /** JoinGroup and SyncGroup in one. Calls `answer` when the rebalance is complete. */
  join(id: string, answer: (generation: Generation) => void): void {
    const member = this.#members.get(id) ?? {
      joining: undefined,
      generation: 0,
      cancelSession: () => {},
    };
    member.joining = answer;
    member.cancelSession();
    this.#members.set(id, member);
    this.rebalance();
    this.#completeWhenAllJoined();
  }

  /** @throws BrokerError UNKNOWN_MEMBER_ID if the session has expired */
  heartbeat(id: string, generation: number): 'ok' | 'rebalance' {
    const member = this.#members.get(id);
    if (member === undefined) throw new BrokerError('UNKNOWN_MEMBER_ID', id);
    if (member.joining === undefined) this.#startSession(id, member);
    return this.#rebalancing || member.generation !== generation ? 'rebalance' : 'ok';
  }

  /** LeaveGroup; also called when a session expires. */
  remove(id: string): void {
    const member = this.#members.get(id);
    if (member === undefined) return;
    member.cancelSession();
    this.#members.delete(id);
    this.rebalance();
    this.#completeWhenAllJoined();
  }

  /** Starts a rebalance unless one is in progress. Members see it in the response to their next heartbeat. */
  rebalance(): void {
    if (this.#rebalancing || this.#members.size === 0) return;
    this.#rebalancing = true;
    this.#cancelRebalanceTimeout = this.#clock.after(this.#settings.rebalanceTimeoutMs, () => {
      for (const [id, member] of [...this.#members]) {
        if (member.joining !== undefined) continue;
        member.cancelSession();
        this.#members.delete(id);
      }
      this.#completeWhenAllJoined();
    });
  }

  #completeWhenAllJoined(): void {
    if (
      !this.#rebalancing ||
      [...this.#members.values()].some((member) => member.joining === undefined)
    )
      return;
    this.#rebalancing = false;
    this.#cancelRebalanceTimeout();
    this.#generation++;
    const assignment = assignShards(this.#shardCount(), this.members(), this.#owners);
    for (const [id, shards] of assignment) for (const shard of shards) this.#owners.set(shard, id);
    for (const [id, member] of this.#members) {
      const answer = member.joining;
      member.joining = undefined;
      member.generation = this.#generation;
      this.#startSession(id, member);
      answer?.({ generation: this.#generation, shards: assignment.get(id) ?? [] });
    }
  }

  #startSession(id: string, member: Member): void {
    member.cancelSession();
    member.cancelSession = this.#clock.after(this.#settings.sessionTimeoutMs, () => {
      if (this.#members.get(id) === member) this.remove(id);
    });
  }
}
