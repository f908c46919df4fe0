/** Runs the suites for the Kafka ports with kafkajs and a real broker. */
import { testKafka } from '../support/kafka/kafka.ts';
import { clusterAdminSuite } from './kafka-admin.suite.ts';
import { shardGroupSuite } from './kafka-group.suite.ts';
import { shardProducersSuite } from './kafka-producers.suite.ts';
import { realWorld } from './kafka-real.ts';
import { sourceReaderSuite } from './kafka-source-reader.suite.ts';
import type { WorldFactory } from './kafka-world.ts';

const kafka = await testKafka();
const createWorld: WorldFactory = (options) => realWorld(kafka, options);

clusterAdminSuite('kafkajs', createWorld);
shardProducersSuite('kafkajs', createWorld);
sourceReaderSuite('kafkajs', createWorld);
shardGroupSuite('kafkajs', createWorld);
