/**
 * Reads decisions and dead letters, and acts on each once. Ends in order on SIGTERM and Ctrl-C.
 *
 *   KAFKA_BROKERS=127.0.0.1:9092 node examples/consumer.ts
 *
 * Whatever your language: read with isolation.level=read_committed. The connector publishes in transactions; who reads
 * uncommitted records sees decisions of transactions that were aborted, and then the same decisions again.
 */
import type { DeadLetterHeaders, Decision } from 'content-review-connector/contracts';
import { type IHeaders, Kafka, logLevel } from 'kafkajs';

const {
  KAFKA_BROKERS = '127.0.0.1:9092',
  DECISIONS = 'content-events.decisions',
  DEAD_LETTERS = 'content-events.dead-letters',
  GROUP = 'moderation',
} = process.env;

/** Event ids that were acted on. In a real consumer: a unique column, written in one database transaction with what you do. */
const seen = new Set<string>();

function onDecision(decision: Decision): void {
  switch (decision.status) {
    case 'SUCCESS':
      // Results and labels are those of your policy.
      console.log(`${decision.id}: ${decision.result}, about ${JSON.stringify(decision.metadata)}`);
      return;
    case 'ERROR':
      // No decision will come for this event: let a person look, or send the event again. More codes may come.
      console.log(
        `${decision.id}: no decision (${decision.error.code}: ${decision.error.message})`,
      );
      return;
    default:
      // v1 has no other status: the compiler knows, and tells when a later version has one.
      decision satisfies never;
  }
}

/** The source record's own key and value come along, for whoever mends and replays them. */
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
// read_committed is this client's default; said here because everything depends on it.
const consumer = kafka.consumer({ groupId: GROUP, readUncommitted: false });

await consumer.connect();
await consumer.subscribe({ topics: [DECISIONS, DEAD_LETTERS], fromBeginning: true });
await consumer.run({
  // An error thrown here makes the client deliver the record again, and those after it: that is what `seen` is for.
  eachMessage: async ({ topic, message: { value, headers } }) => {
    const eventId = text(headers, 'event-id');
    if (seen.has(eventId)) {
      console.log(`${eventId}: seen before`);
      return;
    }
    if (topic === DECISIONS) {
      // JSON.parse makes doubles of numbers: with 64-bit ids in your metadata, take a parser that keeps their digits.
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
