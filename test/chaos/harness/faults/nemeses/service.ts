/** Outage of the service. */
import type { Nemesis } from '../nemesis.ts';

/**
 * Closes connections while reviews are pending, and refuses new connections for a while. The service keeps its state.
 */
export const serviceDown: Nemesis = async (world, random) => {
  const { sandbox, service, fleet } = world;
  await fleet.someBusy(random);
  const unfinished = await sandbox.unfinished();
  const hit = world.inFlight && unfinished > 0;
  service.refusing = true;
  await world.sleep(200 + random.below(1_500)).finally(() => {
    service.refusing = false;
  });
  return { hit, note: `${unfinished} batches and imports unfinished` };
};
