/**
 * Prints what is in a topic, the value of one committed record a line, and ends:
 *
 *   node dev/demo/read.ts BROKERS TOPIC
 */
import { randomUUID } from 'node:crypto';
import { messageOf } from './ending.ts';
import { CommittedReader } from './reader.ts';
import { deleteGroup } from './topics.ts';

const [brokers, topic] = process.argv.slice(2);
if (brokers === undefined || topic === undefined) {
  process.stderr.write('usage: node dev/demo/read.ts BROKERS TOPIC\n');
  process.exit(2);
}
// As in `… | head`: nobody wants the rest.
process.stdout.on('error', () => process.exit(0));

const groupId = `content-review-demo-read-${randomUUID()}`;
const reader = new CommittedReader({
  brokers: brokers.split(','),
  groupId,
  topics: [topic],
  onRecord: ({ value }) => process.stdout.write(`${value ?? 'null'}\n`),
});
try {
  await reader.start();
  await reader.readToEnd();
  await reader.close();
  await deleteGroup(brokers.split(','), groupId);
} catch (error) {
  process.stderr.write(`cannot read ${topic} at ${brokers}: ${messageOf(error)}\n`);
  process.exitCode = 1;
}
