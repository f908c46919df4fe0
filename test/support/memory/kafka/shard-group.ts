/** ShardGroup over MemoryKafka: one member of a consumer group, with the behaviour of the classic protocol. */

import { abortable } from '../../../../packages/client/src/base/abortable.ts';
import type {
  Assignment,
  GroupListener,
  ShardGroup,
  Stream,
  UnreadPartition,
} from '../../../../src/core/ports/kafka.ts';
import { sleepOn } from '../clock.ts';
import { roundTrip } from '../scheduler.ts';
import { BrokerError } from './broker-error.ts';
import type { Home, PipelineTopics } from './client.ts';
import type { Generation, GroupCoordinator } from './group-coordinator.ts';
import type { MemoryKafka } from './kafka.ts';
import { type FetchContext, PartitionFetcher } from './partition-fetcher.ts';

/** Time to restart a crashed client, ms. */
const REBUILD_MS = 1_000;
/** Interval between attempts to confirm the membership, ms. */
const CONFIRM_RETRY_MS = 250;

export class MemoryShardGroup implements ShardGroup {
  readonly member: string;
  readonly #kafka: MemoryKafka;
  readonly #home: Home;
  readonly #topics: PipelineTopics;
  readonly #coordinator: GroupCoordinator;
  #listener: GroupListener | undefined;
  #state: 'idle' | 'joining' | 'stable' | 'stopped' = 'idle';
  /** True while the member is cut off from its group in both directions. */
  #cut = false;
  #generation = 0;
  /** Number of joins. Responses to requests of an earlier join are stale. */
  #session = 0;
  #fetchers = new Map<string, PartitionFetcher>();
  /** Number of source partitions at the time of the assignment. */
  #knownSources = 0;
  #lastHeardMs = Number.NEGATIVE_INFINITY;
  readonly #ended = new AbortController();
  #cancelHeartbeat = () => {};
  #unwatch = () => {};
  #stopping: Promise<void> | undefined;
  #started: { resolve: () => void; reject: (error: unknown) => void } | undefined;

  constructor(kafka: MemoryKafka, home: Home, member: string, topics: PipelineTopics) {
    this.#kafka = kafka;
    this.#home = home;
    this.member = member;
    this.#topics = topics;
    this.#coordinator = kafka.group(topics.group, topics.journal);
  }

  async start(listener: GroupListener): Promise<void> {
    if (this.#state !== 'idle') throw new Error(`member ${this.member} was started before`);
    this.#listener = listener;
    this.#state = 'joining';
    const missing = await this.#ask(() =>
      [this.#topics.source, this.#topics.journal].find(
        (topic) => this.#kafka.cluster.describe(topic) === undefined,
      ),
    );
    this.#ended.signal.throwIfAborted();
    if (missing !== undefined) {
      this.#state = 'idle';
      throw new Error(
        `topic ${missing} does not exist: create it, or correct its name in the configuration`,
      );
    }
    this.#unwatch = this.#kafka.cluster.watch((topic, partition) =>
      this.#changed(topic, partition),
    );
    this.#heartbeatLater();
    const started = new Promise<void>((resolve, reject) => {
      this.#started = { resolve, reject };
    });
    this.#join();
    await started;
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  seek(stream: Stream, partition: number, offset: number): void {
    this.#fetchers.get(`${stream}-${partition}`)?.seek(offset);
  }

  pause(stream: Stream, partition: number): void {
    this.#fetchers.get(`${stream}-${partition}`)?.pause();
  }

  resume(stream: Stream, partition: number): void {
    this.#fetchers.get(`${stream}-${partition}`)?.resume();
  }

  lastHeardMs(): number {
    return this.#lastHeardMs;
  }

  unread(): readonly UnreadPartition[] {
    return [...this.#fetchers.values()].flatMap((fetcher) => fetcher.unread ?? []);
  }

  /** Sends a new heartbeat. After a long pause, the response to an earlier heartbeat may be outdated and proves nothing. */
  async confirmMembership(signal: AbortSignal): Promise<void> {
    const stop = AbortSignal.any([signal, this.#ended.signal]);
    for (;;) {
      stop.throwIfAborted();
      if (this.#state === 'stable' && !this.#cut && (await abortable(this.#heartbeat(), stop)))
        return;
      await sleepOn(this.#home, CONFIRM_RETRY_MS, stop);
    }
  }

  /** The member's own view of its state in the group. */
  get state(): 'idle' | 'joining' | 'stable' | 'stopped' {
    return this.#state;
  }

  /**
   * Test control: makes this member a zombie until `heal`. Its worker continues, but it sends no heartbeat and gets
   * no batch, response or new generation. Its session expires on the brokers' clock.
   */
  isolate(): void {
    this.#cut = true;
  }

  /** Test control: ends `isolate`. The response to the next heartbeat reveals changes that the member missed. */
  heal(): void {
    if (!this.#cut) return;
    this.#cut = false;
    if (this.#state === 'joining') this.#join();
    for (const fetcher of this.#fetchers.values()) fetcher.fetchSoon();
  }

  /** Test control: crashes the client. It restarts a second later, without the state of its old membership. */
  crash(reason: string): void {
    if (this.#state === 'stopped' || this.#state === 'idle') return;
    this.#forgetAssignment();
    this.#state = 'joining';
    this.#listener?.left(reason);
    this.#home.after(REBUILD_MS, () => this.#join());
  }

  #join(): void {
    if (this.#state === 'stopped') return;
    this.#state = 'joining';
    this.#forgetAssignment();
    const session = this.#session;
    this.#kafka.network.defer(this.#channel, () => {
      if (this.#cut || session !== this.#session) return;
      this.#coordinator.join(this.member, (answer) => {
        const answeredMs = this.#home.monotonic();
        this.#home.defer(this.#channel, () => {
          if (!this.#cut && session === this.#session) this.#joined(answer, answeredMs);
        });
      });
    });
  }

  #joined({ generation, shards }: Generation, answeredMs: number): void {
    this.#generation = generation;
    this.#state = 'stable';
    const assignment = this.#assignmentOf(generation, shards);
    for (const [shard, partitions] of assignment.shards) {
      this.#assign('journal', shard);
      for (const partition of partitions) this.#assign('source', partition);
    }
    this.#lastHeardMs = Math.max(this.#lastHeardMs, answeredMs);
    this.#listener?.joined(assignment);
    this.#started?.resolve();
  }

  #assignmentOf(generation: number, shards: readonly number[]): Assignment {
    const count = this.#kafka.cluster.partitions(this.#topics.journal);
    const sources = Array.from(
      { length: this.#kafka.cluster.partitions(this.#topics.source) },
      (_, partition) => partition,
    );
    this.#knownSources = sources.length;
    const of = (shard: number) => sources.filter((partition) => partition % count === shard);
    return {
      generation,
      shardCount: count,
      shards: new Map(shards.map((shard) => [shard, of(shard)])),
    };
  }

  /** Adds a partition, paused and without a position. */
  #assign(stream: Stream, partition: number): void {
    const fetcher = new PartitionFetcher(this.#fetchContext(), stream, partition);
    this.#fetchers.set(`${stream}-${partition}`, fetcher);
  }

  #fetchContext(): FetchContext {
    const session = this.#session;
    return {
      kafka: this.#kafka,
      home: this.#home,
      member: this.member,
      topics: this.#topics,
      isLive: () => session === this.#session && this.#state === 'stable',
      isCut: () => this.#cut,
      deliver: (batch) => this.#listener?.fetched(batch),
    };
  }

  #heartbeatLater(): void {
    this.#cancelHeartbeat = this.#home.after(this.#kafka.settings.heartbeatIntervalMs, () => {
      this.#heartbeatLater();
      if (this.#state === 'stable' && !this.#cut) void this.#heartbeat();
    });
  }

  /** Returns true if the coordinator accepted the heartbeat. Otherwise the member joins again. */
  async #heartbeat(): Promise<boolean> {
    const session = this.#session;
    const sentMs = this.#home.monotonic();
    const answer = await this.#ask(() =>
      this.#coordinator.heartbeat(this.member, this.#generation),
    ).catch((error) => {
      if (error instanceof BrokerError) return 'unknown' as const;
      throw error;
    });
    if (this.#cut || session !== this.#session) return false;
    if (answer === 'ok') this.#lastHeardMs = Math.max(this.#lastHeardMs, sentMs);
    else this.#join();
    return answer === 'ok';
  }

  /** New records wake the fetcher. A new source partition starts a rebalance. */
  #changed(topic: string, partition: number): void {
    if (topic === this.#topics.journal) this.#fetchers.get(`journal-${partition}`)?.fetchSoon();
    if (topic !== this.#topics.source) return;
    const fetcher = this.#fetchers.get(`source-${partition}`);
    if (fetcher !== undefined) fetcher.fetchSoon();
    else if (this.#state === 'stable' && partition >= this.#knownSources) {
      this.#kafka.network.defer(this.#channel, () => this.#coordinator.rebalance());
    }
  }

  #forgetAssignment(): void {
    this.#session++;
    this.#fetchers = new Map();
  }

  async #stop(): Promise<void> {
    const wasMember = this.#state !== 'idle';
    this.#ended.abort(new Error(`member ${this.member} was stopped`));
    this.#state = 'stopped';
    this.#forgetAssignment();
    this.#unwatch();
    this.#cancelHeartbeat();
    this.#started?.reject(new Error(`member ${this.member} was stopped before it had joined`));
    if (!wasMember) return;
    await this.#ask(() => {
      if (!this.#cut) this.#coordinator.remove(this.member);
    });
  }

  get #channel(): string {
    return `group/${this.member}`;
  }

  #ask<T>(apply: () => T): Promise<T> {
    return roundTrip(this.#kafka.network, this.#home, this.#channel, apply);
  }
}
