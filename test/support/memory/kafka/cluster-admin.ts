/** ClusterAdmin over MemoryKafka. */
import {
  type ClusterAdmin,
  type CommittedOffset,
  type PartitionRange,
  type TopicDescription,
  type TopicSpec,
  UnreadPartitionError,
} from '../../../../src/core/ports/kafka.ts';
import { roundTrip } from '../scheduler.ts';
import type { Home } from './client.ts';
import type { MemoryKafka } from './kafka.ts';

export class MemoryClusterAdmin implements ClusterAdmin {
  readonly #kafka: MemoryKafka;
  readonly #home: Home;
  readonly #name: string;

  constructor(kafka: MemoryKafka, home: Home, name: string) {
    this.#kafka = kafka;
    this.#home = home;
    this.#name = name;
  }

  brokerCount(): Promise<number> {
    return this.#ask('brokerCount', '', () => this.#kafka.settings.brokers);
  }

  describeTopic(topic: string): Promise<TopicDescription | undefined> {
    return this.#ask('describeTopic', topic, () => this.#kafka.cluster.describe(topic));
  }

  createTopic(topic: string, spec: TopicSpec): Promise<void> {
    return this.#ask('createTopic', topic, () => {
      if (this.#kafka.cluster.describe(topic) === undefined)
        this.#kafka.cluster.createTopic(topic, spec.partitions, spec);
    });
  }

  ranges(
    topic: string,
    partitions: readonly number[],
  ): Promise<ReadonlyMap<number, PartitionRange>> {
    return this.#ask('ranges', topic, () => {
      const range = (partition: number): PartitionRange => {
        const { start, stableEnd } = this.#kafka.cluster.log(topic, partition);
        return { start, end: stableEnd };
      };
      const failure = (one: number) => this.#kafka.hooks.partitionFailure?.('ranges', topic, one);
      const seen = partitions.filter((partition) => failure(partition) === undefined);
      const [first] = partitions;
      if (seen.length === 0 && first !== undefined)
        throw new UnreadPartitionError(first, String(failure(first)));
      return new Map(seen.map((partition) => [partition, range(partition)]));
    });
  }

  ends(topic: string, partitions: readonly number[]): Promise<ReadonlyMap<number, number>> {
    return this.#ask(
      'ends',
      topic,
      () => new Map(partitions.map((p) => [p, this.#kafka.cluster.log(topic, p).end])),
    );
  }

  silentMs(): number {
    return 0;
  }

  committed(
    group: string,
    topic: string,
    partitions: readonly number[],
  ): Promise<ReadonlyMap<number, CommittedOffset>> {
    return this.#ask('committed', topic, () => {
      const { cluster, hooks } = this.#kafka;
      const read = (partition: number): CommittedOffset =>
        hooks.staleCommitted?.(group, topic, partition)
          ? cluster.previousCommittedOffset(group, topic, partition)
          : cluster.committedOffset(group, topic, partition);
      return new Map(partitions.map((partition) => [partition, read(partition)]));
    });
  }

  async close(): Promise<void> {}

  #ask<T>(operation: string, topic: string, apply: () => T): Promise<T> {
    return roundTrip(this.#kafka.network, this.#home, `admin/${this.#name}`, () => {
      const failure = this.#kafka.hooks.failure?.(operation, topic);
      if (failure !== undefined) throw failure;
      return apply();
    });
  }
}
