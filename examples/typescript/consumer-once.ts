/**
 * Reads decisions and dead letters, and stores each exactly once even after a crash, because one
 * transaction stores effects and positions. Requires Node 22.13 or later for node:sqlite.
 *
 *   KAFKA_BROKERS=127.0.0.1:9092 DATABASE=decisions.db node examples/typescript/consumer-once.ts
 */
import { DatabaseSync } from 'node:sqlite';
import { consumeDecisions } from 'content-review-consumer';
import { decisionStore } from './decision-store.ts';

const {
  KAFKA_BROKERS = '127.0.0.1:9092',
  DECISIONS = 'content-events.decisions',
  DEAD_LETTERS = 'content-events.dead-letters',
  GROUP = 'moderation',
  DATABASE = 'decisions.db',
} = process.env;

const db = new DatabaseSync(DATABASE);
const consumer = await consumeDecisions({
  brokers: KAFKA_BROKERS.split(','),
  group: GROUP,
  decisions: DECISIONS,
  deadLetters: DEAD_LETTERS,
  ...decisionStore(db),
});
console.log('reading');

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void consumer.stop().then(() => db.close()));
