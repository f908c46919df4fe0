/** Faults of the brokers themselves. */
import type { Nemesis } from '../nemesis.ts';

/** kill -9 of a broker with its connections; started again on its data a moment later. */
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

/** SIGSTOP: it is there, and does not answer. */
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
