/** Faults of brokers. */
import type { SeededRandom } from '../../../../support/memory/clock.ts';
import type { World } from '../../world.ts';
import type { Nemesis } from '../nemesis.ts';

type Choice = (world: World, random: SeededRandom) => number | Promise<number>;

/** Kills a broker with SIGKILL, which closes its connections, and restarts it with its data shortly afterwards. */
export const brokerKill =
  (choose: Choice): Nemesis =>
  async (world, random) => {
    const { cluster, fleet } = world;
    const index = await choose(world, random);
    await fleet.someBusy(random);
    const hit = world.inFlight;
    await cluster.kill(index);
    try {
      await world.sleep(300 + random.below(2_000));
    } finally {
      await cluster.restart(index);
    }
    return { hit, note: `broker ${index + 1}` };
  };

export const someBroker: Choice = ({ cluster }, random) => random.below(cluster.brokers.length);

/** Returns the coordinator of a pipeline's group, or of the transactions of one of its shards. */
export const coordinator =
  (type: 'group' | 'transaction'): Choice =>
  async ({ kafka, pipelines }, random) => {
    const { pipeline } = pipelines[random.below(pipelines.length)] as World['pipelines'][0];
    const id = type === 'group' ? pipeline.group : `${pipeline.topics.journal}-0`;
    return await kafka.coordinator(type, id);
  };

/** Restarts all brokers, one after the other. Each broker transfers its coordinators and leaders before it stops. */
export const rollingBrokers: Nemesis = async (world, random) => {
  const { cluster, fleet } = world;
  await fleet.someBusy(random);
  const hit = world.inFlight;
  for (const index of cluster.brokers.keys()) await cluster.restart(index);
  return { hit };
};

/** Freezes a broker with SIGSTOP. Its connections stay open, but it does not respond. */
export const brokerFreeze: Nemesis = async (world, random) => {
  const { cluster, fleet } = world;
  await fleet.someBusy(random);
  const index = random.below(cluster.brokers.length);
  const hit = world.inFlight;
  await cluster.kill(index, 'SIGSTOP');
  try {
    await world.sleep(1_500 + random.below(2_500));
  } finally {
    await cluster.kill(index, 'SIGCONT');
  }
  return { hit, note: `broker ${index + 1}` };
};
