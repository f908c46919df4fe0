/** Consumer by kafkajs as it is, in a process without the patches: prints each value. `stock-reader.ts BROKERS TOPIC` */
import { Kafka, logLevel } from 'kafkajs';

const [brokers = '', topic = ''] = process.argv.slice(2);
const kafka = new Kafka({ brokers: brokers.split(','), logLevel: logLevel.ERROR });
const consumer = kafka.consumer({ groupId: `${topic}-stock`, readUncommitted: false });
await consumer.connect();
await consumer.subscribe({ topic, fromBeginning: true });
await consumer.run({
  eachMessage: async ({ message }) => void process.stdout.write(`${message.value}\n`),
});
