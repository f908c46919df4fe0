/**
 * One random history of the engine: crashes, zombies, lost and late replies, partial results, rebalances, compaction, drawn
 * from a seed; then the faults stop, and everything must settle, once. The same seed gives the same history.
 */

import { DEAD_LETTER_HEADERS } from '../../../src/core/dead-letter.ts';
import { SeededRandom } from '../memory/clock.ts';
import type { CommitFate } from '../memory/kafka.ts';
import type { Fault, ResultLine, ServiceRow } from '../memory/review-service.ts';
import { UploadWatch } from './upload-watch.ts';
import { type Instance, TOPICS, World, type WorldSettings } from './world.ts';

export interface HistoryReport {
  readonly seed: number;
  readonly records: number;
  readonly faults: Readonly<Record<string, number>>;
  /** Records whose content was submitted for review more than once. */
  readonly resubmitted: number;
}

/** Long enough for gauges to be reported, and for uploads of lost shards to be given up. */
const REST_MS = 70_000;

const FATES: readonly CommitFate[] = [
  'reply-lost',
  'lost',
  'fenced',
  'committed-fenced',
  'aborted',
  'unsent',
  { fate: 'late' },
  { fate: 'late', lateMs: 5_000 },
];

/**
 * @param weakened ports with a rule taken away: a harness that is worth its name finds a violation then
 * @throws Error with the seed in its message when an invariant breaks, or when something never settles
 */
export async function runHistory(seed: number, weakened: Pick<WorldSettings, 'wrap' | 'cluster'> = {}): Promise<HistoryReport> {
  const random = new SeededRandom(seed);
  const faults: Record<string, number> = {};
  let faulty = true;
  const strikes = (kind: string, probability: number): boolean => {
    if (!faulty || random.next() >= probability) return false;
    faults[kind] = (faults[kind] ?? 0) + 1;
    return true;
  };
  const pick = <T>(from: readonly T[]): T => from[random.below(from.length)] as T;

  const uploads = new UploadWatch(TOPICS.journal);
  const world: World = new World({
    ...weakened,
    seed,
    shuffle: true,
    partitions: 1 + random.below(3),
    options: {
      batch: { maxRows: 1 + random.below(8), maxAgeMs: 500 + random.below(3000) },
      chunk: { maxRows: 1 + random.below(4) },
      journal: { partitions: 1 + random.below(2) },
      review: { uploadGraceMs: 20_000, missingGraceMs: 10_000, typePauseMs: 5_000 },
      retry: { errorRowAttempts: 1 + random.below(2) },
    },
    budgetBytes: pick([3_000, 20_000, 1_000_000]),
    hooks: {
      commitFate: () => (strikes('commit', 0.06) ? pick(FATES) : 'commit'),
      deliverStale: () => strikes('stale batch', 0.2),
      staleCommitted: () => strikes('stale offset', 0.2),
      batchRecords: () => 1 + random.below(7),
    },
    service: {
      onUpload: (remoteId) => uploads.uploaded(world.kafka.cluster, remoteId),
      arrivalMs: () => (strikes('late upload', 0.1) ? pick([5_000, 40_000, 'never' as const]) : random.below(500)),
      fault: (operation): Fault | undefined => {
        if (!strikes(`service ${operation}`, 0.08)) return undefined;
        if (operation === 'results') return { failure: 'unavailable', afterRows: random.below(4) };
        return {
          failure: operation === 'upload' ? pick(['unavailable', 'expired', 'too_large'] as const) : 'unavailable',
          after: random.next() < 0.5,
        };
      },
      review: () => {
        if (strikes('batch failed', 0.06)) return { afterMs: random.below(3000), state: pick(['failed', 'cancelled'] as const) };
        if (strikes('bad results', 0.15)) return { afterMs: random.below(3000), results: (rows) => spoil(rows, random) };
        return { afterMs: random.below(8000) };
      },
    },
  });

  const fail = (error: unknown): never => {
    throw new Error(`history ${seed}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  };

  try {
    world.start();
    if (random.next() < 0.6) world.start();
    for (let step = 0; step < 25; step++) {
      world.produce(random.below(12), { types: ['a', 'b', 'c'].slice(0, 1 + random.below(3)), poisonEvery: 7 });
      await world.clock.advance(random.below(6_000));
      const running = world.instances.filter(({ process }) => process.state === 'running');
      if (strikes('kill', 0.15) && running.length > 0) pick(running).process.kill();
      if (strikes('freeze', 0.1) && running.length > 0) pick(running).process.freeze();
      const frozen = world.instances.filter(({ process }) => process.state === 'frozen');
      if (frozen.length > 0 && random.next() < 0.3) pick(frozen).process.thaw();
      if (strikes('stop', 0.05) && running.length > 0) void pick(running).stop();
      if (world.instances.filter(({ process }) => process.state === 'running').length < 1 || random.next() < 0.08) world.start();
      if (strikes('compaction', 0.15) && world.kafka.cluster.describe(TOPICS.journal) !== undefined) {
        uploads.read(world.kafka.cluster);
        for (let shard = 0; shard < world.kafka.cluster.partitions(TOPICS.journal); shard++)
          world.kafka.cluster.log(TOPICS.journal, shard).compact();
      }
      if (step === 12 && strikes('partitions added', 0.2))
        world.kafka.cluster.addPartitions(TOPICS.source, world.kafka.cluster.partitions(TOPICS.source) + 1);
      if (step % 5 === 0) world.assertConserved();
    }
    faulty = false;
    for (const { process } of world.instances) process.thaw();
    world.start();
    await world.untilSettled(1_800_000);
    world.assertExactlyOnce();
    // Nothing ever left the source topic, so only what cannot be decoded may be a dead letter.
    const reasons = new Set(world.published('dead').map(({ headers }) => String(headers[DEAD_LETTER_HEADERS.reason])));
    reasons.delete('not_json');
    if (reasons.size > 0) throw new Error(`dead letters for ${[...reasons].join()}`);
    await world.clock.advance(REST_MS);
    for (const instance of world.instances) assertAtRest(instance);
    if (uploads.early.length > 0) throw new Error(`uploaded before their jobs were in the journal: ${uploads.early.join(' ')}`);
  } catch (error) {
    fail(error);
  }
  let resubmitted = 0;
  for (let p = 0; p < world.kafka.cluster.partitions(TOPICS.source); p++) {
    for (const { offset } of world.kafka.cluster.log(TOPICS.source, p).committed())
      if (world.service.submissions(p, offset) > 1) resubmitted++;
  }
  return { seed, records: world.produced, faults, resubmitted };
}

/** An instance that runs and has nothing to do holds nothing. */
function assertAtRest(instance: Instance): void {
  const { process, budget } = instance;
  const gauge = (name: string) => instance.gauge(name) ?? 0;
  if (process.state !== 'running') return;
  const kept = { memory: budget.usedBytes, balance: gauge('balance_items'), inFlight: gauge('items_in_flight') };
  if (Object.values(kept).some((count) => count !== 0))
    throw new Error(`after the end ${process.name} keeps ${JSON.stringify(kept)}`);
}

/** Rows missing, doubled, shuffled, failed, unknown, malformed. */
function spoil(rows: readonly ServiceRow[], random: SeededRandom): ResultLine[] {
  const out: ResultLine[] = [];
  for (const row of rows) {
    const roll = random.next();
    if (roll < 0.2) continue;
    if (roll < 0.35) out.push(row);
    if (roll > 0.9) out.push({ ...row, offset: row.offset + 1_000_000 });
    if (roll > 0.8 && roll < 0.85) out.push({ malformed: 'broken row' });
    out.push(roll > 0.6 && roll < 0.7 ? { ...row, status: 'error' } : row);
  }
  return out.sort(() => random.next() - 0.5);
}
