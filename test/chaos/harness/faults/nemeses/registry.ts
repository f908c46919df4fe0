/** Faults of the schema registry. */
import { eventually } from '../../../../support/eventually.ts';
import type { World } from '../../world.ts';
import type { Nemesis } from '../nemesis.ts';

/** Longer than it takes until a wait counts as one (5 s). */
const WAITING_MS = 30_000;

/** kill -9 while producers begin to write with a schema that no replica has loaded; it starts again on its data. */
export const registryKill: Nemesis = async (world, random) => {
  const { registry, fleet } = world;
  if (registry === undefined) throw new Error('this world has no schema registry');
  await fleet.someBusy(random);
  const hit = world.inFlight;
  const id = await registry.register();
  await registry.kill();
  try {
    registry.use(id);
    await eventually('a replica waits for the registry', () => isWaiting(world), {
      deadlineMs: WAITING_MS,
      everyMs: 250,
    });
    await world.sleep(random.below(2_000));
  } finally {
    await registry.restart();
  }
  return { hit, note: `schema ${id}` };
};

async function isWaiting({ fleet }: World): Promise<boolean> {
  const asked = fleet.running.map((replica) =>
    replica.metric('shards_paused', { reason: 'schema_registry' }).catch(() => 0),
  );
  return (await Promise.all(asked)).some((waiting) => waiting > 0);
}
