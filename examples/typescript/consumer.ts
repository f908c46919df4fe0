/**
 * Reads decisions and dead letters, and acts on each. Stops cleanly on SIGTERM and Ctrl-C.
 *
 *   KAFKA_BROKERS=127.0.0.1:9092 node examples/typescript/consumer.ts
 *
 * Records are delivered at least once: some are repeated after a crash. `seen` represents a unique
 * column in your database. consumer-once.ts stores effects and positions together instead.
 */
import { consumeDecisions, type DeadLetterHeaders, type Decision } from 'content-review-consumer';

const {
  KAFKA_BROKERS = '127.0.0.1:9092',
  DECISIONS = 'content-events.decisions',
  DEAD_LETTERS = 'content-events.dead-letters',
  GROUP = 'moderation',
  SCHEMA_REGISTRY = '',
} = process.env;

const seen = new Set<string>();

function onDecision(decision: Decision): void {
  switch (decision.status) {
    case 'SUCCESS':
      // Your policy defines results and labels.
      console.log(`${decision.id}: ${decision.result}, about ${JSON.stringify(decision.metadata)}`);
      return;
    case 'ERROR':
      // This event gets no decision: let a person check it, or send it again. More codes may be added.
      console.log(`${decision.id}: no decision, ${decision.error.code}: ${decision.error.message}`);
      return;
    default:
      // v1 has no other status. The compiler reports an error if a later version adds one.
      decision satisfies never;
  }
}

/** The record contains the key and value of the source record, so that you can correct and replay it. */
function onDeadLetter(headers: DeadLetterHeaders): void {
  console.log(
    `${headers['event-id']}: dead letter, ${headers['dead-letter-reason']}: ${headers['dead-letter-message']}`,
  );
}

const consumer = await consumeDecisions({
  brokers: KAFKA_BROKERS.split(','),
  group: GROUP,
  decisions: DECISIONS,
  deadLetters: DEAD_LETTERS,
  // Only for output.format avro, protobuf or json-schema.
  ...(SCHEMA_REGISTRY && { registry: { url: SCHEMA_REGISTRY } }),
  process({ records }) {
    for (const record of records) {
      if (record.kind === 'unreadable') {
        // The record is damaged or from another application.
        console.log(
          `${record.topic}-${record.partition} ${record.offset}: unreadable, ${record.problem}`,
        );
      } else if (seen.has(record.eventId)) {
        console.log(`${record.eventId}: seen before`);
      } else {
        if (record.kind === 'decision') onDecision(record.decision);
        else onDeadLetter(record.deadLetter);
        seen.add(record.eventId);
      }
    }
  },
});
console.log('reading');

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void consumer.stop());
