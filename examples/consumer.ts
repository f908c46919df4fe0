/**
 * Reads decisions and dead letters, and acts on each once. Stops cleanly on SIGTERM and Ctrl-C.
 *
 *   KAFKA_BROKERS=127.0.0.1:9092 node examples/consumer.ts
 *
 * In every language, read with isolation.level=read_committed. The connector publishes in
 * transactions; a consumer of uncommitted records sees decisions of aborted transactions, and then
 * the same decisions again.
 */
import type { DeadLetterHeaders, Decision } from 'content-review-connector/contracts';
import { type IHeaders, Kafka, logLevel } from 'kafkajs';

const {
  KAFKA_BROKERS = '127.0.0.1:9092',
  DECISIONS = 'content-events.decisions',
  DEAD_LETTERS = 'content-events.dead-letters',
  GROUP = 'moderation',
} = process.env;

/**
 * Processed event ids. In a real consumer: a unique column, written in the same database transaction
 * as the effects of the decision.
 */
const seen = new Set<string>();

function onDecision(decision: Decision): void {
  switch (decision.status) {
    case 'SUCCESS':
      // Your policy defines results and labels.
      console.log(`${decision.id}: ${decision.result}, about ${JSON.stringify(decision.metadata)}`);
      return;
    case 'ERROR':
      // This event gets no decision: let a person look at it, or send it again. More codes may be added.
      console.log(
        `${decision.id}: no decision (${decision.error.code}: ${decision.error.message})`,
      );
      return;
    default:
      // v1 has no other status: the compiler reports an error if a later version has one.
      decision satisfies never;
  }
}

/** The dead letter has the key and value of the source record, to be corrected and replayed. */
function onDeadLetter(headers: DeadLetterHeaders): void {
  console.log(
    `${headers['event-id']}: dead letter, ${headers['dead-letter-reason']}: ${headers['dead-letter-message']}`,
  );
}

const text = (headers: IHeaders | undefined, name: string): string => String(headers?.[name] ?? '');

const kafka = new Kafka({
  clientId: 'moderation',
  brokers: KAFKA_BROKERS.split(','),
  logLevel: logLevel.WARN,
});
// read_committed is this client's default; explicit because everything depends on it.
const consumer = kafka.consumer({ groupId: GROUP, readUncommitted: false });

await consumer.connect();
await consumer.subscribe({ topics: [DECISIONS, DEAD_LETTERS], fromBeginning: true });
await consumer.run({
  // After an error the client delivers this record and the following ones again: hence `seen`.
  eachMessage: async ({ topic, message: { value, headers } }) => {
    const eventId = text(headers, 'event-id');
    if (seen.has(eventId)) {
      console.log(`${eventId}: seen before`);
      return;
    }
    if (topic === DECISIONS) {
      // JSON.parse turns numbers into doubles: use another parser for 64-bit ids in your metadata.
      onDecision(JSON.parse(String(value)) as Decision);
    } else {
      const names = Object.keys(headers ?? {});
      onDeadLetter(
        Object.fromEntries(
          names.map((name) => [name, text(headers, name)]),
        ) as unknown as DeadLetterHeaders,
      );
    }
    seen.add(eventId);
  },
});

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void consumer.disconnect());
