/** Network faults between the connector and Kafka, and between the connector and the service. */

import type { SeededRandom } from '../../../../support/memory/clock.ts';
import { SESSION_MS, type World } from '../../world.ts';
import type { Nemesis } from '../nemesis.ts';
import type { TcpProxy } from '../proxy.ts';
import { lineCounts, MOST_REPLICAS, takenOver } from './replicas.ts';

const all = () => true;
/** Maximum time for a replica to join again, ms. Two requests may take REQUEST_MS each to time out, and the group waits for its members. */
const BACK_MS = 120_000;

/** Delays both directions by random amounts. */
const latency =
  (proxies: (world: World) => readonly TcpProxy[], mostMs: number): Nemesis =>
  async (world, random) => {
    await world.fleet.someBusy(random);
    const hit = world.inFlight && proxies(world).some(({ connections }) => connections > 0);
    const most = 20 + random.below(mostMs);
    for (const proxy of proxies(world)) proxy.setLatency(() => random.below(most));
    await world.sleep(2_500 + random.below(1_500)).finally(() => {
      for (const proxy of proxies(world)) proxy.setLatency(undefined);
    });
    return { hit, note: `up to ${most} ms each way` };
  };

/** Resets every connection, three times. */
const reset =
  (proxies: (world: World) => readonly TcpProxy[]): Nemesis =>
  async (world, random) => {
    let cut = 0;
    for (let round = 0; round < 3; round++) {
      await world.fleet.someBusy(random);
      for (const proxy of proxies(world)) cut += proxy.reset(all);
      await world.sleep(200 + random.below(600));
    }
    return { hit: cut > 0, note: `${cut} connections` };
  };

export const kafkaLatency = latency(({ brokers }) => brokers, 150);
export const kafkaReset = reset(({ brokers }) => brokers);
export const serviceLatency = latency(({ service }) => [service], 600);
export const serviceReset = reset(({ service }) => [service]);

/** Stops the service's responses for a while. Then the delayed data arrives, or the connections are reset. */
export const serviceSilence: Nemesis = async (world, random) => {
  const { service, fleet } = world;
  await fleet.someBusy(random);
  const hit = world.inFlight;
  const silenced = service.silence(all);
  await world.sleep(1_500 + random.below(4_500)).finally(() => {
    if (random.below(2) === 0) service.reset(all);
    service.heal();
  });
  return { hit, note: `${silenced} connections` };
};

/**
 * Cuts a replica off from Kafka for longer than its session, and delivers the delayed data once another replica has its
 * shards.
 */
export const cutOff: Nemesis = async (world, random) => {
  const { taken, jobs, heal } = await isolate(world, random, (proxy, whose) =>
    proxy.silence(whose),
  );
  await taken().finally(heal);
  return { hit: jobs > 0 };
};

/** Leaves a replica with half-open connections to Kafka. It loses its shards, detects this by timeouts, and joins again. */
export const halfOpen: Nemesis = async (world, random) => {
  const { victim, from, taken, jobs, links } = await isolate(world, random, (proxy, whose) =>
    proxy.orphan(whose),
  );
  const { fleet } = world;
  const back = fleet.joined(victim, from);
  fleet.excuse(victim, back);
  await taken();
  world.expect('the return of a replica from half-open connections', BACK_MS, back);
  if (fleet.running.length < MOST_REPLICAS) await fleet.joined(await fleet.start());
  return { hit: jobs > 0 && links > 0, note: `${links} connections` };
};

async function isolate(
  world: World,
  random: SeededRandom,
  strike: (proxy: TcpProxy, whose: (clientId: string | undefined) => boolean) => number,
) {
  const { fleet, brokers } = world;
  await world.atLeast(2);
  const victim = await fleet.someBusy(random, 2);
  const from = lineCounts(fleet.running);
  const shards = fleet.someShards(victim, random);
  const jobs = fleet.liveJobs(victim);
  let links = 0;
  for (const proxy of brokers) links += strike(proxy, (clientId) => fleet.isOf(victim, clientId));
  return {
    victim,
    from: from.get(victim) ?? 0,
    jobs,
    links,
    taken: async () => {
      await takenOver(world, victim, from, shards);
      await world.sleep(random.below(SESSION_MS));
    },
    heal: () => {
      for (const proxy of brokers) proxy.heal();
    },
  };
}
