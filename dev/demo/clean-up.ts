/**
 * Deletes what a demo that was killed left in a cluster that it did not start; run by the demo's keeper.
 *
 *   node dev/demo/clean-up.ts BROKERS PREFIX
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { deleteTopics, namesWith } from './topics.ts';

const [brokers = '', prefix = ''] = process.argv.slice(2);
// Without a prefix these are names that others may have chosen.
if (brokers === '' || prefix === '') process.exit(2);

/** A killed member stays in its group until its session ends, and a group with members cannot be deleted. */
const ATTEMPTS = 15;
const PAUSE_MS = 1_000;

for (let attempt = 1; ; attempt++) {
  try {
    await deleteTopics(brokers.split(','), namesWith(prefix));
    break;
  } catch (error) {
    if (attempt === ATTEMPTS) throw error;
    await sleep(PAUSE_MS);
  }
}
