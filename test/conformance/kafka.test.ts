/** The Kafka ports over kafkajs and a real broker. */
import { after, before } from 'node:test';
import { clusterAdminSuite } from './kafka-admin.suite.ts';
import { shardGroupSuite } from './kafka-group.suite.ts';
import { shardProducersSuite } from './kafka-producers.suite.ts';
import { RealKafka } from './kafka-real.ts';
import { sourceReaderSuite } from './kafka-source-reader.suite.ts';
import type { WorldFactory } from './kafka-world.ts';

let kafka: RealKafka;
before(async () => {
  kafka = await RealKafka.start();
});
after(() => kafka.stop());

const createWorld: WorldFactory = (options) => kafka.world(options);
clusterAdminSuite('kafkajs', createWorld);
shardProducersSuite('kafkajs', createWorld);
sourceReaderSuite('kafkajs', createWorld);
shardGroupSuite('kafkajs', createWorld);
