/** Runs the suites of the real adapter for the Kafka ports in memory, with plain and with random schedules. */

import { SeededRandom, VirtualClock } from '../support/memory/clock.ts';
import { KafkaClient } from '../support/memory/kafka/client.ts';
import { MemoryKafka } from '../support/memory/kafka/kafka.ts';
import { VirtualProcess } from '../support/memory/process.ts';
import { clusterAdminSuite } from './kafka-admin.suite.ts';
import { shardGroupSuite } from './kafka-group.suite.ts';
import { shardProducersSuite } from './kafka-producers.suite.ts';
import { sourceReaderSuite } from './kafka-source-reader.suite.ts';
import type { KafkaWorld, WorldFactory, WorldOptions } from './kafka-world.ts';

const PATIENCE_MS = 120_000;
const TOPICS = { group: 'group', source: 'source', journal: 'journal', output: 'output' };

function createWorld(
  clock: VirtualClock,
  options: WorldOptions,
  maxBatchRecords: number,
): KafkaWorld {
  const kafka = new MemoryKafka(clock, clock, {}, { maxBatchRecords });
  kafka.cluster.createTopic(TOPICS.source, options.sourcePartitions);
  kafka.cluster.createTopic(TOPICS.output, options.outputPartitions ?? 3);
  kafka.cluster.createTopic(TOPICS.journal, options.shards, {
    settings: [['cleanup.policy', 'compact']],
  });
  let instances = 0;
  const client = () => {
    const name = `instance-${++instances}`;
    return new KafkaClient(kafka, new VirtualProcess(name, clock), name, TOPICS);
  };
  const opened: { stop(): Promise<void> }[] = [];
  const settle = async <T>(promise: Promise<T>): Promise<T> => {
    let settled = false;
    const watched = promise.finally(() => {
      settled = true;
    });
    watched.catch(() => undefined);
    await clock.runUntil(() => settled, PATIENCE_MS);
    return watched;
  };
  return {
    topics: TOPICS,
    admin: client().admin(),
    group: () => {
      const group = client().group();
      opened.push(group);
      return group;
    },
    producers: () => client().producers(),
    controlProducer: () =>
      client().controlProducer(Array.from({ length: options.shards }, (_, shard) => shard)),
    replayProducer: () => client().replayProducer(TOPICS.group, TOPICS.source),
    sourceReader: () => client().sourceReader(),
    produce: async (topic, partition, records) =>
      void kafka.cluster.produce(topic, partition, records),
    deleteRecordsBefore: async (topic, partition, offset) =>
      kafka.cluster.log(topic, partition).deleteBefore(offset),
    addPartitions: async (topic, total) => kafka.cluster.addPartitions(topic, total),
    readAll: async (topic) => [...kafka.cluster.committedRecords(topic)],
    settle,
    until: (_what, condition) => clock.runUntil(condition, PATIENCE_MS),
    close: async () => {
      for (const group of opened) await settle(group.stop());
    },
  };
}

function suites(implementation: string, create: WorldFactory): void {
  clusterAdminSuite(implementation, create);
  shardProducersSuite(implementation, create);
  sourceReaderSuite(implementation, create);
  shardGroupSuite(implementation, create);
}

suites('memory, in plain order', async (options) => createWorld(new VirtualClock(), options, 500));

for (const seed of [1, 2, 3]) {
  suites(`memory, schedule ${seed}`, async (options) => {
    const random = new SeededRandom(seed);
    const clock = new VirtualClock({
      choose: (channels) => random.below(channels.length),
      latencyMs: () => random.below(50),
    });
    return createWorld(clock, options, 2);
  });
}
