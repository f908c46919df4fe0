/** Changes that operators make to source topics and groups. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { eventually } from '../../../../support/eventually.ts';
import type { SeededRandom } from '../../../../support/memory/clock.ts';
import { type GroupPosition, groupPositions } from '../../../../support/stack/stack-control.ts';
import type { PipelineRun } from '../../pipeline-run.ts';
import type { World } from '../../world.ts';
import type { Nemesis } from '../nemesis.ts';
import { shuffled } from '../shuffled.ts';

const RESET_TOOL = 'org.apache.kafka.tools.consumer.group.ConsumerGroupCommand';
const EMPTY_MS = 60_000;
/** Maximum change of a position, in records. */
const BACK = 400;
const FORTH = 40;
const MOVED_PARTITIONS = 3;

/** Adds a partition to the source of a pipeline and writes to it at once. */
export const addPartition: Nemesis = async (world, random) => {
  const { kafka, pipelines, fleet } = world;
  const wide = pipelines.filter(({ canWiden }) => canWiden);
  const run = wide[random.below(Math.max(1, wide.length))];
  if (run === undefined) return { hit: true, note: 'no more partitions are allowed' };
  await fleet.someBusy(random);
  const hit = world.inFlight;
  const { producer, ledger, pipeline, kind } = run;
  const topic = pipeline.topics.source;
  const partition = producer.partitions;
  const admin = await kafka.admin();
  await admin.createPartitions({ topicPartitions: [{ topic, count: partition + 1 }] });
  const led = async () => {
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
    return topics[0]?.partitions.some(
      ({ partitionId, leader }) => partitionId === partition && leader >= 0,
    );
  };
  await eventually(`partition ${partition} has a leader`, led, { deadlineMs: EMPTY_MS });
  producer.widen(partition + 1);
  const used = () => ledger.hasTerminal(partition);
  await eventually(`partition ${partition} of ${topic} has a terminal record`, used, {
    deadlineMs: EMPTY_MS,
    everyMs: 100,
  });
  return { hit, note: `${kind}: ${partition + 1} partitions` };
};

/** Stops all replicas, changes each group's offsets with Kafka's tool (back in some partitions, forward in one), and starts replicas again. */
export const resetGroup: Nemesis = async (world, random) => {
  const { fleet, pipelines } = world;
  const before = fleet.running.length;
  await fleet.someBusy(random);
  await Promise.all([...fleet.running].map((replica) => fleet.stop(replica)));
  for (const run of pipelines) await untilEmpty(world, run);
  await world.quiet();
  const { due } = world;
  const moves = await Promise.all(pipelines.map((run) => drawMoves(world, run, random)));
  await moveGroups(world, moves);
  let again = 0;
  let aside = 0;
  for (const { run, to } of moves) {
    for (const { partition, committed } of await positionsOf(world, run)) {
      if (!to.has(partition)) continue;
      const reset = run.ledger.reset(partition, committed);
      again += reset.again;
      aside += reset.aside.length;
    }
  }
  await world.atLeast(before);
  return {
    hit: due > 0 && again > 0,
    note: `${again} records again, up to ${aside} skipped, ${due} were in flight`,
  };
};

/** New offsets of a pipeline's group, by partition. */
interface Move {
  readonly run: PipelineRun;
  readonly to: ReadonlyMap<number, number>;
}

async function drawMoves(world: World, run: PipelineRun, random: SeededRandom): Promise<Move> {
  const partitions = shuffled([...Array(run.producer.partitions).keys()], random).slice(
    0,
    MOVED_PARTITIONS,
  );
  const by = new Map(
    partitions.map((one, index) => [
      one,
      index === 0 ? 1 + random.below(FORTH) : -1 - random.below(BACK),
    ]),
  );
  const to = new Map<number, number>();
  for (const { partition, committed, end } of await positionsOf(world, run)) {
    const step = by.get(partition);
    // A partition without a committed offset is not changed.
    if (step !== undefined && committed >= 0)
      to.set(partition, Math.min(Math.max(0, committed + step), end));
  }
  return { run, to };
}

/** Returns the group's positions. Retries, because brokers that were just killed or frozen may need a moment. */
async function positionsOf({ kafka }: World, { pipeline }: PipelineRun): Promise<GroupPosition[]> {
  return await eventually('the group has positions', () => groupPositions(kafka, pipeline), {
    deadlineMs: EMPTY_MS,
  });
}

async function moveGroups({ cluster, directory }: World, moves: readonly Move[]): Promise<void> {
  const one = moves.length === 1;
  const lines = moves.flatMap(({ run, to }) => {
    const { group, topics } = run.pipeline;
    // With several groups, the tool expects a column with the group.
    return [...to].map(
      ([partition, offset]) => `${one ? '' : `${group},`}${topics.source},${partition},${offset}\n`,
    );
  });
  const file = path.join(directory, 'reset.csv');
  writeFileSync(file, lines.join(''));
  const groups = moves.flatMap(({ run }) => ['--group', run.pipeline.group]);
  const bootstrap = ['--bootstrap-server', cluster.brokers.join(',')];
  if (cluster.tool === undefined) throw new Error('only local Java brokers have Kafka’s tools');
  await cluster.tool(RESET_TOOL, [
    ...bootstrap,
    ...groups,
    '--reset-offsets',
    '--from-file',
    file,
    '--execute',
  ]);
}

/** Waits until the group has no members, as Kafka's tool requires. Killed members stay until their sessions expire. */
async function untilEmpty({ kafka }: World, { pipeline }: PipelineRun): Promise<void> {
  const admin = await kafka.admin();
  const empty = async () => {
    const { groups } = await admin.describeGroups([pipeline.group]);
    return groups[0]?.state === 'Empty';
  };
  await eventually('the group has no members', empty, { deadlineMs: EMPTY_MS, everyMs: 100 });
}
