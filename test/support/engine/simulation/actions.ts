/** Executes one action of a history on a world. */
import { NO_HEADERS } from '../../../../src/core/record.ts';
import { TOPICS, type World } from '../world.ts';
import type { Cast } from './cast.ts';
import { compact } from './faults.ts';
import type { Obligations } from './judges/obligations.ts';
import type { Truth } from './judges/truth.ts';
import { type KindOfHistory, keyOf } from './kinds.ts';
import type { Operator } from './operator.ts';
import type { Action } from './script.ts';

/** Time for which a producer's transaction stays open. */
const PRODUCER_TRANSACTION_MS = 1_500;
/**
 * Unusual timestamps: both ends of int64, times beyond the range of Date and of safe integers, nanoseconds, and the
 * value for "none".
 */
const ODD_TIMES = [
  -1,
  0,
  1,
  4_102_444_800_000,
  8_640_000_000_000_001,
  1.7e18,
  -2,
  -(2 ** 53) - 2,
  2 ** 63,
  -(2 ** 63),
];

export interface Stage {
  readonly world: World;
  readonly cast: Cast;
  readonly operator: Operator;
  readonly obligations: Obligations;
  readonly truth: Truth;
  readonly kind: KindOfHistory;
  readonly note: (line: string) => void;
}

/** Executes an action. @returns false if there was nothing to apply it to */
export async function act(stage: Stage, action: Action): Promise<boolean> {
  const { world, cast, operator, obligations, truth, note } = stage;
  const { cluster } = world.kafka;
  const one = <T>(all: readonly T[], which: number): T | undefined =>
    all[which % Math.max(1, all.length)];
  switch (action.do) {
    case 'produce':
      produce(stage, action);
      return true;
    case 'start':
      if (cast.alive.length >= 4) return false;
      cast.start();
      return true;
    case 'stop': {
      const instance = one(cast.running, action.which);
      if (instance === undefined) return false;
      if (action.steps === undefined) cast.stop(instance);
      else instance.process.afterSteps(action.steps, () => cast.stop(instance));
      return true;
    }
    case 'kill':
    case 'freeze': {
      const process = one(cast.running, action.which)?.process;
      process?.afterSteps(action.steps, () => {
        note(`${process.name}: ${action.do}`);
        if (action.do === 'kill') return process.kill();
        process.freeze();
        world.clock.after(action.forMs, () => {
          if (process.state === 'frozen') note(`${process.name} resumes`);
          process.thaw();
        });
      });
      return process !== undefined;
    }
    case 'isolate': {
      const group = one(cast.running, action.which)?.group;
      group?.isolate();
      world.clock.after(action.forMs, () => group?.heal());
      return group !== undefined;
    }
    case 'crash client': {
      const group = one(cast.running, action.which)?.group;
      group?.crash('scripted: the client crashed');
      return group !== undefined;
    }
    case 'rebalance':
      world.kafka.group(TOPICS.group, TOPICS.journal).rebalance();
      return true;
    case 'expire transaction': {
      const id = one(world.kafka.transactions.openTransactions(), action.which);
      if (id !== undefined) world.kafka.transactions.expire(id);
      return id !== undefined;
    }
    case 'compact': {
      // A tombstone must outlast every claim that is reading the journal, so compaction drops tombstones only when no
      // claim is reading.
      const replays = cast.alive.some(({ pipeline }) =>
        pipeline.view().shards.some(({ state }) => state === 'claiming'),
      );
      for (let shard = 0; shard < cluster.partitions(TOPICS.journal); shard++)
        compact(world, shard, action.share, action.dropTombstones && !replays);
      return cluster.partitions(TOPICS.journal) > 0;
    }
    case 'step clock':
      world.clock.correct(action.byMs);
      return true;
    case 'add partition':
      if (cluster.partitions(TOPICS.source) > 5 || cluster.partitions(TOPICS.journal) === 0)
        return false;
      cluster.addPartitions(TOPICS.source, cluster.partitions(TOPICS.source) + 1);
      return true;
    case 'damage': {
      const partition = action.partition % cluster.partitions(TOPICS.source);
      const log = cluster.log(TOPICS.source, partition);
      const from = Math.floor(log.start + (log.end - log.start) * action.share);
      const poison = { reason: 'unreadable_batch', message: 'scripted: damaged' } as const;
      log.spoil(from, from + action.count, poison);
      note(`records ${from} to ${from + action.count - 1} of partition ${partition} are damaged`);
      truth.damaged(partition, from, from + action.count);
      return obligations.damaged(partition, from, from + action.count) > 0;
    }
    case 'retention': {
      const partition = action.partition % cluster.partitions(TOPICS.source);
      const log = cluster.log(TOPICS.source, partition);
      const below = Math.min(
        log.stableEnd,
        Math.floor(log.start + (log.end - log.start) * action.share),
      );
      if (below <= log.start) return false;
      log.deleteBefore(below);
      obligations.removed(partition, below);
      note(`records of partition ${partition} below ${below} are removed`);
      return true;
    }
    case 'command':
      return operator.gives(action);
    case 'spoil command': {
      const shards = cluster.partitions(TOPICS.journal);
      if (shards === 0) return false;
      const shard = action.which % shards;
      const value = action.value === null ? null : Buffer.from(action.value);
      cluster.produce(TOPICS.journal, shard, [{ key: 'control', value }]);
      compact(world, shard, 1, false);
      return true;
    }
    case 'reset':
      await reset(stage, action);
      return true;
  }
}

function produce(
  { world, obligations, truth, kind, note }: Stage,
  action: Extract<Action, { do: 'produce' }>,
): void {
  const { cluster } = world.kafka;
  const { transaction, unreadable, gap = 0 } = action;
  const damage =
    unreadable && ({ reason: unreadable, message: `scripted: ${unreadable}` } as const);
  const partitions = cluster.partitions(TOPICS.source);
  const number = -1 - world.produced;
  const first = world.produced;
  for (let partition = 0; partition < partitions; partition++)
    if (gap > 0) cluster.log(TOPICS.source, partition).leap(gap);
  for (let i = 0; i < action.count; i++) {
    const n = world.count();
    const poison = n % action.poisonEvery === action.poisonEvery - 1;
    const timestamp = action.oddTimes
      ? { timestampMs: ODD_TIMES[n % ODD_TIMES.length] as number }
      : {};
    const value = poison ? kind.poison : kind.value(n, 'abc'[n % action.types] as string);
    kind.prepare(n, world.clock.now());
    const record = { key: keyOf(n), value, headers: NO_HEADERS, ...timestamp };
    const partition = n % partitions;
    const log = cluster.log(TOPICS.source, partition);
    const offset = log.append(
      [record],
      world.clock.now(),
      transaction === undefined ? undefined : number,
    );
    // The records of an unreadable batch share one `damage`, so they count as one unit. A record above a limit counts
    // alone.
    const isRead = damage === undefined || (unreadable !== 'unreadable_batch' && i % 2 === 1);
    if (!isRead)
      log.spoil(offset, offset + 1, unreadable === 'unreadable_batch' ? damage : { ...damage });
    if (transaction === 'abort') continue;
    obligations.produced(
      partition,
      offset,
      isRead ? (poison ? kind.poisonReason : undefined) : unreadable,
    );
    truth.produced(partition, offset, n);
  }
  note(
    `${action.count} records produced, from number ${first}${transaction === undefined ? '' : `, in a transaction: ${transaction}`}`,
  );
  if (transaction === undefined) return;
  world.clock.after(PRODUCER_TRANSACTION_MS, () => {
    for (let partition = 0; partition < partitions; partition++)
      cluster.log(TOPICS.source, partition).finish(number, transaction, world.clock.now());
  });
}

/**
 * Resets the group as an operator does: stops everything, waits until the group is empty, writes the offset with
 * the tool, and starts everything again.
 */
async function reset(
  { world, cast, obligations, note }: Stage,
  action: Extract<Action, { do: 'reset' }>,
): Promise<void> {
  const { cluster, clock } = { cluster: world.kafka.cluster, clock: world.clock };
  const count = cast.running.length;
  for (const instance of cast.alive) {
    if (action.killed || instance.process.state !== 'running') instance.process.kill();
    else cast.stop(instance);
  }
  const group = world.kafka.group(TOPICS.group, TOPICS.journal);
  await clock.runUntil(() => group.members().length === 0, 120_000);
  const partition = action.partition % cluster.partitions(TOPICS.source);
  const log = cluster.log(TOPICS.source, partition);
  const offset = Math.max(0, Math.round(log.start + (log.end - log.start) * action.share));
  note(`the group is reset to ${offset} in partition ${partition}`);
  cluster.commitOffset(TOPICS.group, TOPICS.source, partition, offset);
  obligations.resetByTool(partition, offset);
  for (let i = 0; i < Math.max(1, count); i++) cast.start();
}
