/**
 * Deletes the topics that a killed demo left in a cluster that it did not start; run by the demo's keeper.
 *
 *   node dev/demo/clean-up.ts BROKERS PREFIX
 */
import { deleteTopics, namesWith } from './topics.ts';

const [brokers = '', prefix = ''] = process.argv.slice(2);
// Without a prefix these are names that others may have chosen.
if (brokers === '' || prefix === '') process.exit(2);

await deleteTopics(brokers.split(','), namesWith(prefix)).catch(() => {
  // The topics go first. The groups still have their killed members; Kafka forgets empty groups by itself.
  process.exitCode = 1;
});
process.exit();
