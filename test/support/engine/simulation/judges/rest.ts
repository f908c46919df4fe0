/** Checks at the end of a history: everything is settled, so every resource must be released. */
import { type Instance, TOPICS, type World } from '../../world.ts';
import type { Cast } from '../cast.ts';
import { Violation } from './violation.ts';

/** Gauges that are 0 when there is no work. */
const IDLE = ['items_in_flight', 'items_buffered', 'consumer_lag', 'shards_paused', 'batches'];

/** @throws Violation that lists the resources that are still held, with their instances */
export function assertAtRest(world: World, cast: Cast): void {
  const held = cast.running.flatMap((instance) =>
    cast.hangs(instance) ? [] : heldBy(instance, cast),
  );
  const { cluster } = world.kafka;
  for (let partition = 0; partition < cluster.partitions(TOPICS.source); partition++) {
    const { end } = cluster.log(TOPICS.source, partition);
    const { offset } = world.committed(partition);
    if (offset !== end)
      held.push(`partition ${partition}: ${offset} is committed, but the log ends at ${end}`);
  }
  // Reads the logs after all compaction, as a restart would.
  for (const { record } of world.liveJobs()) held.push(`live job ${record.id}`);
  if (held.length > 0) throw new Violation('rest', held.join('; '));
}

function heldBy(instance: Instance, cast: Cast): string[] {
  const { process, budget, metrics } = instance;
  const held: string[] = [];
  if (budget.usedBytes !== 0) held.push(`${budget.usedBytes} bytes of memory`);
  if (budget.pool.lentBytes !== 0) held.push(`${budget.pool.lentBytes} bytes of buffers`);
  for (const [series, value] of metrics.gauges) {
    if (value !== 0 && IDLE.includes(series.slice(0, series.indexOf('{'))))
      held.push(`${series} ${value}`);
  }
  const { ok, conditions } = cast.health(instance).readiness();
  if (!ok) held.push(`not ready: ${conditions.flatMap(({ reason = [] }) => reason).join(', ')}`);
  return held.map((one) => `${process.name} keeps ${one}`);
}

/** @throws Violation if stopped instances left a timer, a buffer or a transaction open */
export function assertNothingLeft({ instances, kafka, service }: World, cast: Cast): void {
  const [open] = kafka.transactions.openTransactions();
  if (open !== undefined) throw new Violation('rest', `a transaction of ${open} is still open`);
  const ended = instances.filter((instance) => !cast.hangs(instance));
  const left = ended.filter(({ process }) => process.state !== 'killed').flatMap(leftBy);
  // A process that was killed or that hangs does not return its slices.
  const { lent } = service.slices;
  if (lent > 0 && instances.every((one) => one.process.state !== 'killed' && !cast.hangs(one)))
    left.push(`${lent} slice(s) of result files are lent`);
  if (left.length > 0) throw new Violation('rest', left.join('; '));
}

function leftBy({ process, budget }: Instance): string[] {
  const left: string[] = [];
  if (process.timers > 0) left.push(`${process.timers} timer(s)`);
  if (budget.pool.lentBytes > 0) left.push(`${budget.pool.lentBytes} bytes of buffers`);
  return left.map((one) => `${process.name} leaves ${one}`);
}
