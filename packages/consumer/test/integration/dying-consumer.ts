/**
 * Consumer that stores effects and positions together. Depending on DIE_AT, it kills itself before or after
 * the commit, or freezes before it.
 */
import { DatabaseSync } from 'node:sqlite';
import { decisionStore } from '../../../../examples/typescript/decision-store.ts';
import { consumeDecisions } from '../../src/index.ts';

const { KAFKA_BROKERS = '', GROUP = '', DATABASE = '', DIE_AT, DECISIONS = '' } = process.env;
const { DEAD_LETTERS } = process.env;

const db = new DatabaseSync(DATABASE);
const store = decisionStore(db);
const dieAt = (moment: string) => DIE_AT === moment && process.kill(process.pid, 'SIGKILL');
const print = (line: string) => process.stdout.write(`${line}\n`);
let mayFreeze = DIE_AT === 'freeze';
function freeze() {
  if (!mayFreeze) return;
  mayFreeze = false;
  print('frozen');
  process.kill(process.pid, 'SIGSTOP');
}

const consumer = await consumeDecisions({
  brokers: KAFKA_BROKERS.split(','),
  group: GROUP,
  decisions: DECISIONS,
  ...(DEAD_LETTERS && { deadLetters: DEAD_LETTERS }),
  positions: store.positions,
  process(batch) {
    dieAt('before');
    freeze();
    try {
      store.process(batch);
    } catch (error) {
      print(`refused: ${(error as Error).message}`);
      throw error;
    }
    dieAt('after');
    print(`stored to ${batch.to}`);
  },
});
process.once('SIGTERM', () => void consumer.stop().then(() => db.close()));
