/** One instance's connections to a MemoryKafka: all ports, with responses delivered through the instance's process. */
import type { Clock } from '../../../../packages/client/src/base/clock.ts';
import type {
  ClusterAdmin,
  ControlProducer,
  ShardProducers,
  SourceReader,
} from '../../../../src/core/ports/kafka.ts';
import type { ReplayProducer } from '../../../../src/tools/inspect/replay.ts';
import type { Scheduler } from '../scheduler.ts';
import { MemoryClusterAdmin } from './cluster-admin.ts';
import type { MemoryKafka } from './kafka.ts';
import { MemoryShardGroup } from './shard-group.ts';
import { MemoryShardProducer } from './shard-producer.ts';
import { MemorySourceReader } from './source-reader.ts';

/** Names of a pipeline's group and topics. */
export interface PipelineTopics {
  readonly group: string;
  readonly source: string;
  readonly journal: string;
}

/** Environment of an instance: its clock, and the scheduler that delivers responses. VirtualProcess implements both. */
export type Home = Pick<Clock, 'now' | 'monotonic' | 'after'> & Scheduler;

export class KafkaClient {
  readonly name: string;
  readonly #kafka: MemoryKafka;
  readonly #home: Home;
  readonly #topics: PipelineTopics;

  constructor(kafka: MemoryKafka, home: Home, name: string, topics: PipelineTopics) {
    this.#kafka = kafka;
    this.#home = home;
    this.name = name;
    this.#topics = topics;
  }

  producers(): ShardProducers {
    return {
      open: (shard) =>
        new MemoryShardProducer(this.#kafka, this.#home, this.name, this.#topics, [shard]),
    };
  }

  controlProducer(shards: readonly number[]): ControlProducer {
    const of = [this.#kafka, this.#home, this.name, this.#topics, shards, 'control'] as const;
    return new MemoryShardProducer(...of);
  }

  replayProducer(group: string, deadLetters: string): ReplayProducer {
    const topics = { group, source: deadLetters, journal: deadLetters };
    return new MemoryShardProducer(this.#kafka, this.#home, this.name, topics, [], group);
  }

  /** @param member id in the group. A returning member with an old id gets its old shards first */
  group(member = this.name): MemoryShardGroup {
    return new MemoryShardGroup(this.#kafka, this.#home, member, this.#topics);
  }

  admin(): ClusterAdmin {
    return new MemoryClusterAdmin(this.#kafka, this.#home, this.name);
  }

  sourceReader(): SourceReader {
    return new MemorySourceReader(this.#kafka, this.#home, this.name, this.#topics.source);
  }
}
