/** What operators do to the source topic and its group. */
import { eventually } from '../../../test/support/eventually.ts';
import type { Nemesis } from '../nemesis.ts';
import type { World } from '../world.ts';

const RESET_TOOL = 'org.apache.kafka.tools.consumer.group.ConsumerGroupCommand';
const EMPTY_MS = 60_000;
/** How far positions are moved, records at most. */
const BACK = 60;
const FORTH = 40;
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
  const partitions = [...Array(world.producer.partitions).keys()].sort(() => random.below(3) - 1).slice(0, 3);
  let again = 0;
  let aside = 0;
  for (const [index, partition] of partitions.entries()) {
    const target = await moveGroup(world, partition, index === 0 ? 1 + random.below(FORTH) : -1 - random.below(BACK));
    const reset = ledger.reset(partition, target);
    again += reset.again;
    aside += reset.aside.length;
  }
  await world.atLeast(before);
  return { hit: due > 0 && again > 0, note: `${again} records again, up to ${aside} passed over, ${due} were in flight` };
};

/** @returns the offset that the group has now. */
async function moveGroup({ cluster, stack, kafka }: World, partition: number, by: number): Promise<number> {
  const { group, topics } = stack;
  const bootstrap = ['--bootstrap-server', cluster.brokers.join(',')];
  const which = ['--group', group, '--topic', `${topics.source}:${partition}`];
  await cluster.tool(RESET_TOOL, [...bootstrap, ...which, '--reset-offsets', '--shift-by', String(by), '--execute']);
  const admin = await kafka.admin();
  const [answer] = await admin.fetchOffsets({ groupId: group, topics: [topics.source] });
  return Number(answer?.partitions.find((one) => one.partition === partition)?.offset);
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
