/** State of the brokers: topics with their logs, and the committed offsets of groups. All calls take effect immediately. */
import type { CommittedOffset, TopicDescription } from '../../../../src/core/ports/kafka.ts';
import type { OutgoingRecord, SourceRecord } from '../../../../src/core/record.ts';
import { BrokerError } from './broker-error.ts';
import { PartitionLog } from './partition-log.ts';

interface Topic {
  readonly logs: PartitionLog[];
  readonly settings: ReadonlyMap<string, string>;
  readonly replicationFactor: number;
}

interface Commit {
  readonly now: CommittedOffset;
  /** Offset that a stale read returns. */
  readonly before: CommittedOffset;
  readonly atMs: number;
}

const NOTHING: CommittedOffset = { offset: null, metadata: '' };

export interface TopicOptions {
  readonly settings?: Iterable<readonly [string, string]>;
  readonly replicationFactor?: number;
}

export class Cluster {
  readonly #topics = new Map<string, Topic>();
  /** group → topic → partition → commit. */
  readonly #groups = new Map<string, Map<string, Map<number, Commit>>>();
  readonly #watchers = new Set<(topic: string, partition: number) => void>();
  readonly #nowMs: () => number;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Calls `changed` after every change of a partition or topic. @returns a function that stops the calls */
  watch(changed: (topic: string, partition: number) => void): () => void {
    this.#watchers.add(changed);
    return () => this.#watchers.delete(changed);
  }

  createTopic(name: string, partitions: number, options: TopicOptions = {}): void {
    if (this.#topics.has(name)) throw new BrokerError('TOPIC_ALREADY_EXISTS', name);
    const topic = {
      logs: [],
      settings: new Map(options.settings ?? []),
      replicationFactor: options.replicationFactor ?? 1,
    };
    this.#topics.set(name, topic);
    this.addPartitions(name, partitions);
  }

  /** Increases the number of partitions to `total`. */
  addPartitions(name: string, total: number): void {
    const { logs } = this.#topic(name);
    if (total <= logs.length)
      throw new BrokerError('INVALID_PARTITIONS', `${name} already has ${logs.length} partitions`);
    while (logs.length < total) {
      const partition = logs.length;
      logs.push(new PartitionLog(partition, () => this.#notify(name, partition)));
      this.#notify(name, partition);
    }
  }

  /** Deletes the topic and every group's offsets for it, as brokers do. */
  deleteTopic(name: string): void {
    const { logs } = this.#topic(name);
    this.#topics.delete(name);
    for (const topics of this.#groups.values()) topics.delete(name);
    for (const log of logs) this.#notify(name, log.partition);
  }

  /** Returns undefined if the topic does not exist. */
  describe(name: string): TopicDescription | undefined {
    const topic = this.#topics.get(name);
    if (topic === undefined) return undefined;
    return {
      partitions: topic.logs.length,
      replicationFactor: topic.replicationFactor,
      settings: topic.settings,
    };
  }

  /** @throws BrokerError UNKNOWN_TOPIC_OR_PARTITION */
  log(topic: string, partition: number): PartitionLog {
    const log = this.#topic(topic).logs[partition];
    if (log === undefined)
      throw new BrokerError('UNKNOWN_TOPIC_OR_PARTITION', `${topic}-${partition}`);
    return log;
  }

  partitions(topic: string): number {
    return this.#topics.get(topic)?.logs.length ?? 0;
  }

  /** Appends records without a transaction, as producers do to a source topic. @returns the first offset */
  produce(
    topic: string,
    partition: number,
    records: readonly (OutgoingRecord & { readonly timestampMs?: number })[],
  ): number {
    return this.log(topic, partition).append(records, this.#nowMs());
  }

  /** Returns the committed records of all partitions of a topic. */
  committedRecords(topic: string): readonly SourceRecord[] {
    return this.#topic(topic).logs.flatMap((log) => log.committed());
  }

  durableRecords(topic: string): readonly SourceRecord[] {
    return this.#topic(topic).logs.flatMap((log) => log.durable());
  }

  committedOffset(group: string, topic: string, partition: number): CommittedOffset {
    return this.#groups.get(group)?.get(topic)?.get(partition)?.now ?? NOTHING;
  }

  /** Deletes a group's offsets. Kafka does so some time after the last commit of a group without members. */
  deleteOffsets(group: string): void {
    this.#groups.delete(group);
  }

  /** Returns the offset that was committed before the newest one. */
  previousCommittedOffset(group: string, topic: string, partition: number): CommittedOffset {
    return this.#groups.get(group)?.get(topic)?.get(partition)?.before ?? NOTHING;
  }

  /** Returns the time of the newest commit in ms, or undefined. */
  committedAtMs(group: string, topic: string, partition: number): number | undefined {
    return this.#groups.get(group)?.get(topic)?.get(partition)?.atMs;
  }

  /** Commits an offset, as Kafka's tool (which clears the metadata) and the end of a transaction do. */
  commitOffset(
    group: string,
    topic: string,
    partition: number,
    offset: number,
    metadata = '',
  ): void {
    this.log(topic, partition);
    const topics = this.#groups.get(group) ?? new Map<string, Map<number, Commit>>();
    this.#groups.set(group, topics);
    const commits = topics.get(topic) ?? new Map<number, Commit>();
    topics.set(topic, commits);
    commits.set(partition, {
      now: { offset, metadata },
      before: commits.get(partition)?.now ?? NOTHING,
      atMs: this.#nowMs(),
    });
  }

  #topic(name: string): Topic {
    const topic = this.#topics.get(name);
    if (topic === undefined)
      throw new BrokerError('UNKNOWN_TOPIC_OR_PARTITION', `topic ${name} does not exist`);
    return topic;
  }

  #notify(topic: string, partition: number): void {
    for (const watcher of [...this.#watchers]) watcher(topic, partition);
  }
}
