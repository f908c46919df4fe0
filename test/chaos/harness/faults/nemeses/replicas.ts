/** Faults of replicas. */
import type { LogLine, Replica } from '../../../../support/stack/stack.ts';
import { type ShardName, shardsIn } from '../../../../support/stack/stack-control.ts';
import { SESSION_MS, type World } from '../../world.ts';
import type { Nemesis } from '../nemesis.ts';

/** Maximum time from finding a busy replica to the signal, ms. */
const STRIKE_MS = 800;
export const MOST_REPLICAS = 3;

/** Kills a replica with live jobs and starts another replica. */
export const kill: Nemesis = async (world, random) => {
  const { fleet } = world;
  await fleet.someBusy(random);
  await world.sleep(random.below(STRIKE_MS));
  const victim = await fleet.someBusy(random);
  await fleet.kill(victim);
  const sessionEndsMs = performance.now() + SESSION_MS;
  // The victim's complete log shows which jobs were live when it died.
  const jobs = fleet.liveJobs(victim);
  await fleet.joined(await fleet.start());
  return { hit: jobs > 0, sessionEndsMs };
};

/** Kills all replicas at once. */
export const killAll: Nemesis = async (world, random) => {
  const { fleet } = world;
  await fleet.someBusy(random, 2);
  await world.sleep(random.below(STRIKE_MS));
  const victims = [...fleet.running];
  await Promise.all(victims.map((victim) => fleet.kill(victim)));
  const hit = victims.some((victim) => fleet.liveJobs(victim) > 0);
  await world.atLeast(victims.length);
  return { hit };
};

/**
 * Freezes a replica for longer than its session. Resumes it when another replica has claimed one of its shards, or
 * soon after.
 */
export const zombie: Nemesis = async (world, random) => {
  const { fleet } = world;
  await world.atLeast(2);
  const victim = await fleet.someBusy(random, 2);
  const from = lineCounts(fleet.running);
  fleet.freeze(victim);
  try {
    const owned = fleet.someShards(victim, random);
    const jobs = fleet.liveJobs(victim);
    const sign = random.below(2) === 0 ? 'owns the shard' : 'joined the group';
    await takenOver(world, victim, from, owned, sign);
    await world.sleep(random.below(700));
    return { hit: jobs > 0, note: `resumed after "${sign}"` };
  } finally {
    fleet.thaw(victim);
  }
};

/** Hours by which a wall clock is set forward or back. */
const CLOCK_STEPS = [-8, -1, 1, 8] as const;

/** Sets the wall clock of a replica wrong for longer than a session, then corrects it. */
export const clockStep: Nemesis = async (world, random) => {
  const { fleet } = world;
  const victim = await fleet.someBusy(random);
  const jobs = fleet.liveJobs(victim);
  const hours = CLOCK_STEPS[random.below(CLOCK_STEPS.length)] as number;
  fleet.stepClock(victim, hours * 3_600_000);
  try {
    await world.sleep(SESSION_MS + random.below(2 * SESSION_MS));
  } finally {
    fleet.stepClock(victim, 0);
  }
  return { hit: jobs > 0, note: `by ${hours} h` };
};

/** Stops the replicas with SIGTERM one after the other, and replaces each at once. */
export const rollingRestart: Nemesis = async (world, random) => {
  const { fleet } = world;
  await world.atLeast(2);
  let busy = 0;
  for (const replica of [...fleet.running]) {
    await fleet.someBusy(random);
    if (fleet.liveJobs(replica) > 0) busy++;
    const [next] = await Promise.all([fleet.start(), fleet.stop(replica)]);
    await fleet.joined(next);
  }
  return { hit: busy > 0 };
};

/** Changes the number of replicas twice. At least two run at the end. */
export const scale: Nemesis = async (world, random) => {
  const { fleet } = world;
  const before = fleet.running.length;
  const first =
    before === 1
      ? MOST_REPLICAS
      : before === MOST_REPLICAS
        ? 1
        : random.below(2) === 0
          ? 1
          : MOST_REPLICAS;
  const second = first === 1 ? 2 + random.below(2) : 2;
  await fleet.someBusy(random);
  const hit = world.inFlight;
  for (const count of [first, second]) {
    while (fleet.running.length > count)
      await fleet.stop(fleet.running[random.below(fleet.running.length)] as Replica);
    await world.atLeast(count);
    await world.sleep(500 + random.below(1_000));
  }
  return { hit, note: `${before} → ${first} → ${second} replicas` };
};

export function lineCounts(replicas: readonly Replica[]): ReadonlyMap<Replica, number> {
  return new Map(replicas.map((replica) => [replica, replica.lines.length]));
}

/** Resolves with the first replica other than `victim` that logs `sign` for one of these shards. */
export async function takenOver(
  world: World,
  victim: Replica,
  from: ReadonlyMap<Replica, number>,
  shards: ReadonlySet<ShardName>,
  sign: 'owns the shard' | 'joined the group' = 'owns the shard',
): Promise<Replica> {
  const others = world.fleet.running.filter((replica) => replica !== victim);
  const late = new AbortController();
  const deadline = world.sleep(20 * SESSION_MS).then(() => {
    if (!late.signal.aborted)
      throw new Error(`no other replica logged "${sign}" for shards ${[...shards].join()}`);
  });
  try {
    return (await Promise.race([
      deadline,
      Promise.any(
        others.map(async (replica) => {
          const where = (line: LogLine) => shardsIn(line).some((one) => shards.has(one));
          await replica.logged(sign, { from: from.get(replica) ?? 0, where });
          return replica;
        }),
      ),
    ])) as Replica;
  } finally {
    late.abort();
    deadline.catch(() => undefined);
  }
}
