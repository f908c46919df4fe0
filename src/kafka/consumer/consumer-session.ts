/**
 * Session of a kafkajs consumer in the pipeline's group. Errors of callbacks do not reach kafkajs.
 */
import type { Consumer, IMemberAssignment } from 'kafkajs';
import type { Assignment, FetchedBatch, Stream, UnreadPartition } from '../../core/ports/kafka.ts';
import type { Logger } from '../../core/ports/telemetry.ts';
import { rangesOf } from '../cluster-connection.ts';
import { Client, type ConnectOptions } from '../connect.ts';
import { explain, toOffset } from '../errors.ts';
import { OWN_TOPIC_LIMITS, type PartitionFetch } from '../kafkajs/partition-fetch.ts';
import type { ConsumerGroup, KafkaCluster } from '../kafkajs/shapes.ts';
import { createAssigner, type History, partitionsOfShards } from './assigner.ts';
import { FetchWatch } from './fetch-watch.ts';
import type { GroupSettings } from './group-options.ts';
import { leaveGroup, membersOf } from './leave-group.ts';
import { flows, Positions, type ReadPosition } from './positions.ts';

interface SessionEvents {
  joined(assignment: Assignment): void;
  fetched(batch: FetchedBatch): void;
  /** The group has accepted a request that this member sent at `atMs` (monotonic clock, ms). */
  heard(atMs: number): void;
  /** The session has ended without a call of close(). @param error the error with which kafkajs gave up */
  ended(reason: string, error?: unknown): void;
}

/** Few attempts by kafkajs: after a crash, shard-group.ts retries and the member only rejoins. */
const RETRY = {
  initialRetryTime: 100,
  multiplier: 2,
  maxRetryTime: 1_000,
  retries: 5,
  restartOnFailure: async () => false,
};
/** Time for the current fetch and one more request. A broker that hangs must not block a shutdown. */
const CLOSE_GRACE_MS = 1_200;
/** Pause of the fetch loop while all partitions are paused. It delays the first fetch of a resumed partition. */
const PAUSED_WAIT_MS = 50;

export class ConsumerSession {
  /** Shards of this member, which the next session reports to the group. */
  history: History | undefined;
  /** Member ids that this client has had in the group. The next session removes them from the group. */
  readonly memberIds: Set<string>;
  readonly #connect: ConnectOptions;
  readonly #options: GroupSettings;
  readonly #events: SessionEvents;
  readonly #logger: Logger;
  readonly #clientId: string;
  readonly #client: Client;
  readonly #consumer: Consumer;
  readonly #positions: Positions;
  readonly #watch: FetchWatch;
  #cluster: KafkaCluster | undefined;
  #group: ConsumerGroup | undefined;
  #sentAtMs = -Infinity;
  #silence: NodeJS.Timeout | undefined;
  #over = false;

  constructor(
    connect: ConnectOptions,
    options: GroupSettings,
    before: ConsumerSession | undefined,
    events: SessionEvents,
    logger: Logger,
  ) {
    this.#connect = connect;
    this.#options = options;
    this.#events = events;
    this.#logger = logger;
    this.history = before?.history;
    this.memberIds = before?.memberIds ?? new Set();
    this.#positions = new Positions(options.sourceTopic, options.journalTopic);
    this.#watch = this.#watching();
    this.#clientId = [connect.clientId, options.memberName].filter(Boolean).join('-');
    this.#client = new Client({ ...connect, clientId: this.#clientId }, logger, RETRY);
    this.#consumer = this.#client.kafka.consumer({
      groupId: options.groupId,
      sessionTimeout: this.#options.sessionTimeoutMs,
      rebalanceTimeout: this.#options.rebalanceTimeoutMs,
      heartbeatInterval: this.#options.heartbeatMs,
      metadataMaxAge: this.#options.metadataMaxAgeMs,
      maxBytes: this.#options.maxBytes,
      maxBytesPerPartition: this.#options.maxBytesPerPartition,
      maxWaitTimeInMs: this.#options.maxWaitMs,
      rackId: connect.rack ?? '',
      allowAutoTopicCreation: false,
      retry: RETRY,
      partitionAssigners: [
        ({ cluster }) => {
          this.#cluster = cluster as object as KafkaCluster;
          return createAssigner(this.#cluster, {
            ...options,
            history: () => this.history,
            memberIds: this.memberIds,
            attached: (group) => {
              this.#group = group;
            },
            fetched: (fetches) => this.#guard(() => this.#watch.fetched(fetches)),
          });
        },
      ],
    });
    const { GROUP_JOIN, HEARTBEAT, REQUEST, CRASH } = this.#consumer.events;
    this.#consumer.on(REQUEST, ({ payload }) => {
      if (payload.apiName === 'Heartbeat' || payload.apiName === 'SyncGroup')
        this.#sentAtMs = performance.now() - Math.max(0, payload.duration);
    });
    this.#consumer.on(HEARTBEAT, () => {
      this.#watchSilence();
      this.#guard(() => this.#events.heard(this.#sentAtMs));
    });
    this.#consumer.on(GROUP_JOIN, ({ payload }) =>
      this.#guard(() => this.#joined(payload.memberAssignment)),
    );
    this.#consumer.on(CRASH, ({ payload }) =>
      this.#end(explain(payload.error, this.#access), payload.error),
    );
  }

  /** Connects, subscribes and starts. The first join follows later. Rejects if brokers or topics cannot be reached. */
  async open(): Promise<void> {
    const { sourceTopic, journalTopic, protocol } = this.#options;
    const journal = protocol === undefined ? journalTopic : undefined;
    await this.#consumer.connect();
    if (this.#options.memberName !== undefined && this.history === undefined) {
      const cluster = this.#cluster as KafkaCluster;
      const predecessors = await membersOf(cluster, this.#access, this.#clientId, this.#logger);
      for (const memberId of predecessors) this.memberIds.add(memberId);
    }
    // Without `fromBeginning`, a partition with no committed offset would lose its first records.
    for (const topic of [journalTopic, sourceTopic]) {
      try {
        await this.#consumer.subscribe({ topics: [topic], fromBeginning: true });
      } catch (error) {
        throw new Error(
          `cannot read topic ${topic}: ${explain(error, { ...this.#access, topic, journal })}`,
          { cause: error },
        );
      }
    }
    await this.#consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      // The handler is synchronous. If it waited, it could span a rejoin and move the position of
      // the new generation.
      eachBatch: async ({ batch, resolveOffset }) => {
        const fetch = batch as object as PartitionFetch;
        const { topic, partition, fetchOffset: offset } = fetch;
        this.#guard(() => this.#deliver(fetch, resolveOffset), { topic, partition, offset });
      },
    });
    this.#watchSilence();
    if (!this.#over) this.#watch.start();
  }

  /** Leaves the group in less than two seconds, whatever the brokers do. Idempotent, never throws. */
  async close(): Promise<void> {
    this.#over = true;
    this.#watch.stop();
    clearTimeout(this.#silence);
    const memberId = this.#group?.memberId ?? null;
    let left = false;
    const disconnect = async () => {
      await this.#consumer.disconnect();
      left = true;
    };
    await this.#client.close(disconnect, CLOSE_GRACE_MS);
    // A join or fetch that hangs blocks its connection, so the leave request uses another connection.
    if (!left && memberId !== null)
      await leaveGroup(this.#connect, this.#options.groupId, memberId, this.#logger);
  }

  seek(stream: Stream, partition: number, offset: number): void {
    const state = this.#positions.get(stream, partition);
    if (state === undefined || this.#over) return;
    state.position = toOffset(String(offset));
    state.leftOutUntilMs = undefined;
    this.#consumer.seek({ topic: state.topic, partition, offset: String(offset) });
    this.#apply(state);
  }

  setResumed(stream: Stream, partition: number, resumed: boolean): void {
    const state = this.#positions.get(stream, partition);
    if (state === undefined || this.#over) return;
    state.resumed = resumed;
    this.#apply(state);
  }

  /** Commits the next offset of a partition as this member, in a single attempt. @throws Error of kafkajs */
  async commit(stream: Stream, partition: number, offset: number): Promise<void> {
    const state = this.#positions.get(stream, partition);
    if (state === undefined || this.#over) throw new Error('not a member of the group');
    const partitions = [{ partition, offset: String(offset), metadata: null }];
    await this.#group?.commitOffsets({ topics: [{ topic: state.topic, partitions }] });
  }

  /** Resolves once the coordinator accepts a heartbeat sent after this call. Otherwise rejects. */
  async heartbeat(): Promise<void> {
    const group = this.#group;
    const { memberId = null, generationId = null, coordinator } = group ?? {};
    if (coordinator == null || memberId === null || generationId === null || this.#over)
      throw new Error('not a member of the group');
    const { groupId } = this.#options;
    const sentAtMs = performance.now();
    // kafkajs's own heartbeat waits for a join in progress, and sends nothing without a member id.
    await coordinator.heartbeat({ groupId, memberId, groupGenerationId: generationId });
    if (this.#over || group?.generationId !== generationId || group.memberId !== memberId)
      throw new Error('the member has joined again in the meantime');
    this.#events.heard(sentAtMs);
  }

  /** Partitions that should flow but cannot be read at present. */
  get unread(): UnreadPartition[] {
    return [...this.#positions].flatMap(({ stream, partition, position, resumed, trouble }) =>
      trouble === undefined || position === undefined || !resumed || this.#over
        ? []
        : [{ stream, partition, offset: position, error: trouble }],
    );
  }

  get #access() {
    return {
      operation: 'READ',
      group: this.#options.groupId,
      principal: this.#connect.security?.principal,
    };
  }

  #joined(memberAssignment: IMemberAssignment): void {
    if (this.#over) return;
    this.#watchSilence();
    const { sourceTopic, journalTopic } = this.#options;
    const generation = this.#group?.generationId ?? 0;
    const shards = memberAssignment[journalTopic] ?? [];
    const shardCount = this.#cluster?.findTopicPartitionMetadata(journalTopic).length ?? 0;
    const sourcePartitions = Math.max(-1, ...(memberAssignment[sourceTopic] ?? [])) + 1;
    const assignment = {
      generation,
      shardCount,
      shards: partitionsOfShards(shards, shardCount, sourcePartitions),
    };
    this.history = { generation, shards: [...assignment.shards.keys()] };
    this.#positions.assign(assignment);
    // A seek left over from the previous generation would overwrite this generation's positions.
    this.#group?.seekOffset.clear();
    this.#consumer.pause(
      Object.entries(memberAssignment).map(([topic, partitions]) => ({ topic, partitions })),
    );
    this.#setWait();
    this.#events.heard(this.#sentAtMs);
    this.#events.joined(assignment);
  }

  #deliver(fetch: PartitionFetch, resolveOffset: (offset: string) => void): void {
    const { topic, partition } = fetch;
    const state = this.#positions.byTopic(topic, partition);
    if (this.#over || state?.position === undefined || !flows(state)) return;
    if (fetch.fetchOffset !== state.position) {
      // The records were fetched before a seek or a rejoin moved the position. Drops them and seeks again.
      this.#consumer.seek({ topic, partition, offset: String(state.position) });
      return;
    }
    const limits = state.stream === 'source' ? this.#options.limits : OWN_TOPIC_LIMITS;
    const fetched = fetch.toFetchedBatch(state.stream, limits);
    state.position = fetched.nextOffset;
    resolveOffset(fetch.lastOffset());
    this.#events.fetched(fetched);
  }

  #apply(state: ReadPosition): void {
    const topics = [{ topic: state.topic, partitions: [state.partition] }];
    if (flows(state)) {
      this.#consumer.resume(topics);
    } else {
      state.fetchedMs = undefined;
      this.#consumer.pause(topics);
    }
    this.#setWait();
  }

  #watching(): FetchWatch {
    const cluster = () => this.#cluster as KafkaCluster;
    return new FetchWatch({
      positions: this.#positions,
      logger: this.#logger,
      access: () => this.#access,
      maxSilenceMs: this.#options.maxSilenceMs,
      apply: (state) => this.#apply(state),
      seek: ({ stream, partition }, to) => this.seek(stream, partition, to),
      range: async ({ topic, partition }) =>
        (await rangesOf(cluster(), topic, [partition])).get(partition),
      refreshMetadata: () => cluster().refreshMetadata(),
      isLeaderless: ({ topic, partition }) =>
        cluster()
          .findTopicPartitionMetadata(topic)
          .some(({ partitionId, leader }) => partitionId === partition && leader < 0),
      outside: ({ stream, partition }, fetchOffset, endOffset) =>
        this.#events.fetched({
          stream,
          partition,
          fetchOffset,
          nextOffset: fetchOffset,
          endOffset,
          bytes: 0,
          pieces: async function* () {},
        }),
      end: (reason) => this.#end(reason),
      guard: (run) => this.#guard(run),
    });
  }

  #setWait(): void {
    if (this.#group !== undefined)
      this.#group.maxWaitTime = this.#positions.flow ? this.#options.maxWaitMs : PAUSED_WAIT_MS;
  }

  /**
   * Ends a session if the group is silent for longer than any join may take. This is the last
   * resort against faults of kafkajs that have no patch yet (docs/internals/kafkajs.md).
   */
  #watchSilence(): void {
    clearTimeout(this.#silence);
    if (this.#over) return;
    const { maxSilenceMs } = this.#options;
    const end = () => this.#end(`no response from the group for ${maxSilenceMs} ms`);
    this.#silence = setTimeout(end, maxSilenceMs).unref();
  }

  /**
   * Runs a callback of kafkajs. An error ends the session; the next one starts from the journal.
   * @param place subject of the callback, for the log
   */
  #guard(run: () => void, place: object = {}): void {
    try {
      run();
    } catch (error) {
      const { message, stack } = error as Error;
      const reason = `the shard worker failed: ${message}`;
      this.#logger.error({ error: reason, ...place, stack }, 'a Kafka callback threw an error');
      this.#end(reason, Object.assign(new Error(reason), place));
    }
  }

  #end(reason: string, error?: unknown): void {
    if (this.#over) return;
    this.#over = true;
    // Deferred until the current callback of kafkajs has returned.
    setImmediate(() => this.#events.ended(reason, error));
  }
}
