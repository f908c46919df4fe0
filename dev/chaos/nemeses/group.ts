/** What operators do to the source topic and its group. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { eventually } from '../../../test/support/eventually.ts';
import { groupPositions } from '../../../test/support/stack-control.ts';
import type { Nemesis } from '../nemesis.ts';
import { shuffled } from '../shuffled.ts';
import type { World } from '../world.ts';

const RESET_TOOL = 'org.apache.kafka.tools.consumer.group.ConsumerGroupCommand';
const EMPTY_MS = 60_000;
/** How far positions are moved, records at most. */
const BACK = 400;
const FORTH = 40;
const MOVED_PARTITIONS = 3;
const MOST_PARTITIONS = 9;

/** One more partition in the source; written to at once. */
export const addPartition: Nemesis = async (world, random) => {
  const { kafka, stack, producer, fleet, ledger } = world;
  if (producer.partitions >= MOST_PARTITIONS) return { hit: true, note: `there are ${MOST_PARTITIONS} already` };
  await fleet.someBusy(random);
  const hit = world.inFlight;
  const partition = producer.partitions;
  const admin = await kafka.admin();
  await admin.createPartitions({ topicPartitions: [{ topic: stack.topics.source, count: partition + 1 }] });
  const led = async () => {
    const { topics } = await admin.fetchTopicMetadata({ topics: [stack.topics.source] });
    return topics[0]?.partitions.some(({ partitionId, leader }) => partitionId === partition && leader >= 0);
  };
  await eventually(`partition ${partition} has a leader`, led, { deadlineMs: EMPTY_MS });
  producer.widen(partition + 1);
  const used = () => ledger.hasTerminal(partition);
  await eventually(`partition ${partition} has a terminal record`, used, { deadlineMs: EMPTY_MS, everyMs: 100 });
  return { hit, note: `${partition + 1} partitions` };
};

/** All replicas stop; Kafka's own tool sets the group back in some partitions and forth in one; they start again. */
export const resetGroup: Nemesis = async (world, random) => {
  const { fleet, ledger } = world;
  const before = fleet.running.length;
  await fleet.someBusy(random);
  await Promise.all([...fleet.running].map((replica) => fleet.stop(replica)));
  await untilEmpty(world);
  await world.quiet();
  const due = ledger.due;
  const partitions = shuffled([...Array(world.producer.partitions).keys()], random).slice(0, MOVED_PARTITIONS);
  const by = partitions.map((_, index) => (index === 0 ? 1 + random.below(FORTH) : -1 - random.below(BACK)));
  let again = 0;
  let aside = 0;
  for (const [partition, offset] of await moveGroup(world, new Map(partitions.map((one, index) => [one, by[index] as number])))) {
    const reset = ledger.reset(partition, offset);
    again += reset.again;
    aside += reset.aside.length;
  }
  await world.atLeast(before);
  return { hit: due > 0 && again > 0, note: `${again} records again, up to ${aside} passed over, ${due} were in flight` };
};

/** @param by how far to move, by partition. @returns the offsets that the group has now. */
async function moveGroup(world: World, by: ReadonlyMap<number, number>): Promise<Map<number, number>> {
  const { cluster, stack, kafka, directory } = world;
  const { group, topics } = stack;
  const before = await groupPositions(kafka, stack);
  const lines = before.flatMap(({ partition, committed, end }) => {
    const step = by.get(partition);
    // Where the group has no position yet there is nothing to move.
    if (step === undefined || committed < 0) return [];
    return `${topics.source},${partition},${Math.min(Math.max(0, committed + step), end)}\n`;
  });
  const file = path.join(directory, 'reset.csv');
  writeFileSync(file, lines.join(''));
  const bootstrap = ['--bootstrap-server', cluster.brokers.join(',')];
  await cluster.tool(RESET_TOOL, [...bootstrap, '--group', group, '--reset-offsets', '--from-file', file, '--execute']);
  const after = await groupPositions(kafka, stack);
  return new Map(
    after.filter(({ partition, committed }) => by.has(partition) && committed >= 0).map((one) => [one.partition, one.committed]),
  );
}

/** Kafka's tool refuses a group with members; those that were killed last until their session ends. */
async function untilEmpty({ kafka, stack }: World): Promise<void> {
  const admin = await kafka.admin();
  const empty = async () => {
    const { groups } = await admin.describeGroups([stack.group]);
    return groups[0]?.state === 'Empty';
  };
  await eventually('the group has no members', empty, { deadlineMs: EMPTY_MS, everyMs: 100 });
}
