/** State of a running stack for tests: live jobs of replicas from their logs, and the group's offsets. */
import type { TestKafka } from '../kafka/kafka.ts';
import type { SeededRandom } from '../memory/clock.ts';
import { type LogLine, parseLogLine, type Replica, type StackPipeline } from './stack.ts';

/** Unique name of a shard when there are several pipelines. */
export type ShardName = `${string}/${number}`;

/** Shard that a replica owns according to its log. */
interface Held {
  /** Number of live jobs. */
  jobs: number;
  /** Time at which the replica became the owner, in ms. */
  readonly sinceMs: number;
}

/** Shards of a replica, and the position up to which its log was read. */
class Followed {
  at = 0;
  readonly held = new Map<ShardName, Held>();
  /** Time of the group's last assignment of the shard to the replica, in ms. */
  readonly assignedMs = new Map<ShardName, number>();
}

const followed = new WeakMap<Replica, Followed>();

function follow(replica: Replica): Followed {
  const log = followed.get(replica) ?? new Followed();
  followed.set(replica, log);
  for (; log.at < replica.lines.length; log.at++) {
    const line = parseLogLine(replica.lines[log.at] as string);
    if (typeof line?.pipeline === 'string') take(line, line.pipeline, log);
  }
  return log;
}

function take(line: LogLine, pipeline: string, { held, assignedMs }: Followed): void {
  const name: ShardName = `${pipeline}/${Number(line.shard)}`;
  const shard = held.get(name);
  const timeMs = Date.parse(String(line.time));
  if (line.msg === 'joined the group') {
    const kept = new Set(shardsIn(line));
    for (const known of [held, assignedMs])
      for (const one of known.keys())
        if (one.startsWith(`${pipeline}/`) && !kept.has(one)) known.delete(one);
    for (const one of kept) assignedMs.set(one, timeMs);
  } else if (line.msg === 'owns the shard')
    held.set(name, { jobs: Number(line.jobs), sinceMs: timeMs });
  else if (line.msg === 'lost the shard; claiming it again once the group responds')
    held.delete(name);
  else if (shard === undefined) return;
  else if (line.msg === 'batch created') shard.jobs++;
  else if (line.msg === 'batch settled') shard.jobs = Math.max(0, shard.jobs - 1);
}

/**
 * Returns the shards that a replica owns, with the number of live jobs in each, from its log (level debug).
 * @param others replicas that may have taken over shards while this replica was frozen or cut off
 */
export function ownedShards(
  replica: Replica,
  others: readonly Replica[] = [],
): ReadonlyMap<ShardName, number> {
  const isLost = (name: ShardName, { sinceMs }: Held) =>
    others.some(
      (other) => other !== replica && (follow(other).assignedMs.get(name) ?? 0) > sinceMs,
    );
  return new Map(
    [...follow(replica).held].flatMap(([name, held]) =>
      isLost(name, held) ? [] : [[name, held.jobs] as const],
    ),
  );
}

/** Returns the shards of `ownedShards` for a stack with one pipeline, by shard number. */
export function ownedJobs(replica: Replica): ReadonlyMap<number, number> {
  return new Map(
    [...ownedShards(replica)].map(([name, jobs]) => [
      Number(name.slice(name.lastIndexOf('/') + 1)),
      jobs,
    ]),
  );
}

/**
 * Draws a pipeline, and returns those of the given shards that belong to it. Each pipeline has its own group, which
 * rebalances separately.
 */
export function someOfOne(
  shards: Iterable<ShardName>,
  random: SeededRandom,
): ReadonlySet<ShardName> {
  const byPipeline = [
    ...Map.groupBy(shards, (name) => name.slice(0, name.lastIndexOf('/'))).values(),
  ];
  return new Set(byPipeline[random.below(Math.max(1, byPipeline.length))]);
}

/** Returns the shards that a log line of a pipeline names. */
export function shardsIn({ pipeline, shard, shards }: LogLine): ShardName[] {
  return [shard, shards]
    .flat()
    .flatMap((one) => (typeof one === 'number' ? [`${String(pipeline)}/${one}` as const] : []));
}

/** Returns the number of live jobs in all shards that a replica owns. */
export function liveJobs(replica: Replica, others: readonly Replica[] = []): number {
  let sum = 0;
  for (const jobs of ownedShards(replica, others).values()) sum += jobs;
  return sum;
}

export interface GroupPosition {
  readonly partition: number;
  /** -1 if the group has none. */
  readonly committed: number;
  /** One past the last record, including control records. */
  readonly end: number;
}

/** Returns the committed source offsets of a pipeline's group. For a stack, uses its first pipeline. */
export async function groupPositions(
  kafka: TestKafka,
  { topics, group }: Pick<StackPipeline, 'topics' | 'group'>,
): Promise<GroupPosition[]> {
  const admin = await kafka.admin();
  const topic = topics.source;
  const [committed] = await admin.fetchOffsets({ groupId: group, topics: [topic] });
  const ends = await admin.fetchTopicOffsets(topic);
  return ends.map(({ partition, high }) => ({
    partition,
    committed: Number(
      committed?.partitions.find((one) => one.partition === partition)?.offset ?? -1,
    ),
    end: Number(high),
  }));
}
