/** Client quotas. Brokers respond at once, but then read nothing from the connection for a while (KIP-219). */
import { alterClientQuotas } from '../../../../support/kafka/client-quotas.ts';
import { LOST_GROUP, LOST_SHARD } from '../../observe/losses.ts';
import type { Nemesis } from '../nemesis.ts';

const BYTES_PER_SECOND = 10_000;
const THROTTLED = 'the broker throttles this client: it exceeds a client quota';
/** Signs of a lost membership or shard, which throttling alone must not cause. */
const FALSE_ALARMS = ['joined the group', LOST_GROUP, LOST_SHARD];

/** Throttles reads, writes and requests of all replicas for a while. */
export const quotas: Nemesis = async (world, random) => {
  const { fleet, cluster } = world;
  await fleet.someBusy(random);
  const [broker = ''] = cluster.brokers;
  const clients = fleet.running.flatMap((replica) => fleet.clientsOf(replica));
  const set = (rate: number | undefined, percentage: number | undefined) =>
    alterClientQuotas(broker, clients, {
      producer_byte_rate: rate,
      consumer_byte_rate: rate,
      request_percentage: percentage,
    });
  const count = () => FALSE_ALARMS.map((message) => fleet.logged(message).length);
  // A replica that an earlier fault has cut off may return at any time.
  const isCalm = fleet.away.length === 0;
  const [before, seen] = [count(), fleet.logged(THROTTLED).length];
  await set(BYTES_PER_SECOND, 1);
  try {
    await world.sleep(15_000 + random.below(5_000));
  } finally {
    await set(undefined, undefined);
  }
  const after = count();
  if (isCalm && String(after) !== String(before))
    throw new Error(`throttling changed "${FALSE_ALARMS.join('", "')}" from ${before} to ${after}`);
  const waits = fleet.logged(THROTTLED).slice(seen);
  const longestMs = Math.max(0, ...waits.map(({ throttledMs }) => Number(throttledMs)));
  return {
    hit: waits.length > 0,
    note: `up to ${longestMs} ms`,
    sessionEndsMs: performance.now() + longestMs,
  };
};
