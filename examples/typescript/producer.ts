/**
 * Writes content events.
 *
 *   KAFKA_BROKERS=127.0.0.1:9092 TOPIC=content-events node examples/typescript/producer.ts
 */
import { randomUUID } from 'node:crypto';
import type { ContentEvent } from 'content-review-connector/contracts';
import { Kafka, logLevel, Partitioners } from 'kafkajs';

interface Comment {
  readonly id: string;
  readonly author: string;
  readonly text: string;
}

const COMMENTS: readonly Comment[] = [
  { id: 'c-1', author: 'u-7', text: 'You have won! Click here.' },
  { id: 'c-2', author: 'u-8', text: 'Good morning to all of you.' },
  { id: 'c-3', author: 'u-7', text: 'Send money, and I tell you how to earn more.' },
];

/** Content event of a comment. The decision returns `metadata` unchanged. */
function eventOf({ id, author, text }: Comment): ContentEvent {
  return { content: text, type: 'comment', metadata: { comment: id, author: { id: author } } };
}

const { KAFKA_BROKERS = '127.0.0.1:9092', TOPIC = 'content-events' } = process.env;
const kafka = new Kafka({
  clientId: 'comments',
  brokers: KAFKA_BROKERS.split(','),
  logLevel: logLevel.WARN,
});
const producer = kafka.producer({
  allowAutoTopicCreation: false,
  // Retries must not write duplicates, because the connector reviews every record.
  idempotent: true,
  createPartitioner: Partitioners.DefaultPartitioner,
});

await producer.connect();
try {
  await producer.send({
    topic: TOPIC,
    acks: -1,
    messages: COMMENTS.map((comment) => ({
      // Any bytes or null. The decision has the same key, which also selects its partition.
      key: comment.author,
      value: JSON.stringify(eventOf(comment)),
      // Copied to the decision if output.headers lists them. event-id is reserved.
      headers: { 'trace-id': randomUUID() },
    })),
  });
  console.log(`sent ${COMMENTS.length} comments to ${TOPIC}`);
} finally {
  await producer.disconnect();
}
