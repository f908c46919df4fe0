/** Faults of the service: its death, and the sandbox's scripted ones. */
import type { Nemesis } from '../nemesis.ts';

/** kill -9 while reviews are pending; it starts again on its data, at another port behind the same address. */
export const sandboxKill: Nemesis = async (world, random) => {
  const { sandbox, fleet } = world;
  await fleet.someBusy(random);
  const unfinished = await sandbox.unfinished();
  const hit = world.inFlight && unfinished > 0;
  await sandbox.kill();
  try {
    await world.sleep(200 + random.below(1_500));
  } finally {
    await sandbox.start();
  }
  return { hit, note: `${unfinished} batches and imports unfinished` };
};
