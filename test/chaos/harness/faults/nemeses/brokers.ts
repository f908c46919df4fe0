/** Faults of brokers. */
import type { Nemesis } from '../nemesis.ts';

/** SIGKILL of a broker, which closes its connections. It is restarted with its data shortly after. */
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

/** SIGSTOP of a broker: connections stay open, but it does not respond. */
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
