/** Consumer that stores effects and positions together, and kills itself before or after it has done so (DIE_AT). */
import { DatabaseSync } from 'node:sqlite';
import { decisionStore } from '../../../examples/typescript/decision-store.ts';
import { consumeDecisions } from '../../../src/consumer/index.ts';

const { KAFKA_BROKERS = '', GROUP = '', DATABASE = '', DIE_AT, DECISIONS = '' } = process.env;
const { DEAD_LETTERS = '' } = process.env;

const db = new DatabaseSync(DATABASE);
const store = decisionStore(db);
const dieAt = (moment: string) => DIE_AT === moment && process.kill(process.pid, 'SIGKILL');

const consumer = await consumeDecisions({
  brokers: KAFKA_BROKERS.split(','),
  group: GROUP,
  decisions: DECISIONS,
  deadLetters: DEAD_LETTERS,
  positions: store.positions,
  process(batch) {
    dieAt('before');
    store.process(batch);
    dieAt('after');
    process.stdout.write(`stored to ${batch.to}\n`);
  },
});
process.once('SIGTERM', () => void consumer.stop().then(() => db.close()));
