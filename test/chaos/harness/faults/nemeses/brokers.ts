/** Faults of brokers. */
import type { Nemesis } from '../nemesis.ts';

/** Kills a broker with SIGKILL, which closes its connections, and restarts it with its data shortly afterwards. */
export const brokerKill: Nemesis = async (world, random) => {
  const { cluster, fleet } = world;
  await fleet.someBusy(random);
  const index = random.below(cluster.brokers.length);
  const hit = world.inFlight;
  await cluster.kill(index);
  try {
    await world.sleep(300 + random.below(2_000));
  } finally {
    await cluster.restart(index);
  }
  return { hit, note: `broker ${index + 1}` };
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
