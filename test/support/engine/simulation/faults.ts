/**
 * Injects the faults of the strikes into the cluster and the service of a world. All other choices are drawn from the
 * seed.
 */
import type { SeededRandom } from '../../memory/clock.ts';
import type { CommitFate, KafkaHooks } from '../../memory/kafka/kafka.ts';
import type {
  Fault,
  Operation,
  RemoteBatch,
  ResultLine,
  ReviewPlan,
  ServiceRow,
  ServiceScript,
} from '../../memory/service/review-service.ts';
import { TOPICS, type World } from '../world.ts';
import { Chance } from './chance.ts';
import type { Shape, Strike } from './script.ts';
import type { Strikes } from './strikes.ts';

/** Time after a commit during which a read may still return the offsets of the previous commit. */
const STALE_MS = 1_000;

export function clusterFaults(
  strikes: Strikes,
  seed: number,
  shape: Shape,
  world: () => World,
): KafkaHooks {
  const chance = new Chance(seed + 1);
  const fails = (place: string, kind: 'read failed' | 'admin failed', probability: number) =>
    strikes.at(place, kind, probability, () => ({ kind })) === undefined
      ? undefined
      : new Error(`scripted: ${kind}`);
  return {
    commitFate: ({ client, transactionalId, number }) => {
      const strike = strikes.at(`commit/${client}/${transactionalId}`, 'commit', 0.09, (random) =>
        drawCommit(random, shape, number),
      );
      if (strike?.kind === 'commit') return strike.fate;
      const process = world().instances.find(
        (instance) => instance.process.name === client,
      )?.process;
      if (strike?.kind === 'killed in commit')
        process?.afterSteps(strike.steps, () => process.kill());
      if (strike?.kind === 'frozen in commit') {
        process?.afterSteps(strike.steps, () => {
          process.freeze();
          world().clock.after(strike.forMs, () => process.thaw());
        });
      }
      return 'commit';
    },
    staleCommitted: (group, topic, partition) => {
      const { cluster, clock } = world().kafka;
      const strike = strikes.at(`committed/${partition}`, 'stale offset', 0.3, () => ({
        kind: 'stale offset',
      }));
      // Only offsets of transactions become visible late. Offsets that a tool writes are visible at once.
      const isOfTransaction = cluster.committedOffset(group, topic, partition).metadata !== '';
      const atMs = cluster.committedAtMs(group, topic, partition) ?? 0;
      return strike !== undefined && isOfTransaction && clock.monotonic() - atMs < STALE_MS;
    },
    deliverStale: (member, stream, partition) =>
      strikes.at(`stale/${member}/${stream}-${partition}`, 'stale batch', 0.3, () => ({
        kind: 'stale batch',
      })) !== undefined,
    batchRecords: (member, stream, partition) => {
      const place = `fetch/${member}/${stream}-${partition}`;
      if (stream === 'journal') {
        const draw = (random: SeededRandom): Strike => ({
          kind: 'compaction in replay',
          share: random.next(),
        });
        const strike = strikes.at(place, 'compaction', 0.08, draw);
        if (strike?.kind === 'compaction in replay')
          compact(world(), partition, strike.share, false);
      }
      return 1 + chance.next(place).below(7);
    },
    failure: (operation, topic) =>
      operation === 'read'
        ? fails(`read/${topic}`, 'read failed', 0.1)
        : fails(`admin/${operation}`, 'admin failed', 0.02),
  };
}

/** Compacts the lower `share` of the stable part of a shard's journal. */
export function compact(
  { kafka }: World,
  shard: number,
  share: number,
  dropTombstones: boolean,
): void {
  const log = kafka.cluster.log(TOPICS.journal, shard);
  log.compact({ dropTombstones, upTo: Math.ceil(log.start + (log.stableEnd - log.start) * share) });
}

function drawCommit(random: SeededRandom, { sessionTimeoutMs }: Shape, number: number): Strike {
  const roll = random.next();
  if (roll < 0.2) return { kind: 'killed in commit', steps: random.below(12) };
  // This freeze is usually long enough for the next owner to claim the shard before the instance resumes.
  if (roll < 0.45) {
    return {
      kind: 'frozen in commit',
      steps: random.below(12),
      forMs: sessionTimeoutMs * random.next() + 1_000 + random.below(15_000),
    };
  }
  const late: CommitFate = {
    fate: 'late',
    lateMs: [0, 300, 3_000, 12_000, 25_000][random.below(5)] as number,
  };
  const fates: CommitFate[] = [
    'reply-lost',
    'lost',
    'fenced',
    'committed-fenced',
    'aborted',
    'unsent',
    late,
    late,
  ];
  if (random.next() < 0.05) fates.push('silent', 'silent', 'silent', 'silent');
  // Permanent refusals are rare for a claim (the first commit of a producer), because they end the process.
  if (number > 1 || random.next() < 0.2) fates.push('rejected', 'too-large');
  return { kind: 'commit', fate: fates[random.below(fates.length)] as CommitFate };
}

/** In one history out of this number, the storage refuses nearly every upload. */
const REFUSING_EVERY = 20;

export function serviceFaults(strikes: Strikes, seed: number, world: () => World): ServiceScript {
  const chance = new Chance(seed + 2);
  // Records of a type are given up only after many refusals in a row, so the rate must be high.
  const refusing = seed % REFUSING_EVERY === 0;
  return {
    arrivalMs: (remoteId) => {
      const strike = strikes.at('arrival', 'late upload', 0.12, (random) => ({
        kind: 'late upload',
        ms: ([3_000, 25_000, 'never'] as const)[random.below(3)] as number | 'never',
      }));
      return strike?.kind === 'late upload'
        ? strike.ms
        : chance.of(`arrival/${remoteId}`).below(400);
    },
    fault: (operation) => {
      const refused = refusing && operation === 'upload';
      const draw = (random: SeededRandom): Strike =>
        refused
          ? { kind: 'service', fault: { failure: 'too_large' } }
          : drawFault(operation, random);
      const strike = strikes.at(
        `service/${operation}`,
        `service ${operation}`,
        refused ? 0.9 : 0.1,
        draw,
      );
      return strike?.kind === 'service' ? strike.fault : undefined;
    },
    review: (batch) => planReview(batch, strikes, chance, world()),
    decisionStatus: () => {
      const draw = (random: SeededRandom): Strike => ({
        kind: 'decision status',
        status: random.next() < 0.5 ? 'PENDING' : 'ON_HOLD',
      });
      const strike = strikes.at('decision', 'decision status', 0.15, draw);
      return strike?.kind === 'decision status' ? strike.status : undefined;
    },
  };
}

const FAILURES = [
  'rejected',
  'unauthorized',
  'not_found',
  'too_large',
  'expired',
  'unavailable',
  'protocol',
] as const;

function drawFault(operation: Operation, random: SeededRandom): Strike {
  const roll = random.next();
  const after = random.next() < 0.4 ? { after: true } : {};
  if (roll < 0.15)
    return { kind: 'service', fault: { hangMs: 2_000 + random.below(25_000), ...after } };
  const failure =
    roll < 0.55
      ? 'unavailable'
      : (FAILURES[random.below(FAILURES.length)] as (typeof FAILURES)[number]);
  const fault: Fault = {
    failure,
    ...(random.next() < 0.2 ? { retryAfterMs: random.below(4_000) } : {}),
  };
  if (operation !== 'results') return { kind: 'service', fault: { ...fault, ...after } };
  return {
    kind: 'service',
    fault: random.next() < 0.6 ? { ...fault, afterRows: random.below(5) } : fault,
  };
}

function planReview(
  { id }: RemoteBatch,
  strikes: Strikes,
  chance: Chance,
  world: World,
): ReviewPlan {
  const { clock, service } = world;
  const strike = strikes.at('review', 'review', 0.2, (random): Strike => {
    const afterMs = random.below(3_000);
    if (random.next() < 0.6) {
      const told =
        random.next() < 0.3
          ? { told: random.next() < 0.5 ? ('too many' as const) : ('too few' as const) }
          : {};
      return { kind: 'spoiled results', seed: random.below(2 ** 31), afterMs, ...told };
    }
    const how = (['failed', 'failed', 'cancelled', 'stuck', 'unknown', 'forgotten'] as const)[
      random.below(6)
    ] as 'failed';
    return { kind: 'review', how, afterMs };
  });
  if (strike?.kind === 'spoiled results') {
    const random = new Chance(strike.seed).of('rows');
    const rows = world.service.batch(id).rows?.length ?? 0;
    const told =
      strike.told === undefined
        ? {}
        : { expectedRows: strike.told === 'too many' ? rows + 2 : Math.max(0, rows - 1) };
    return { afterMs: strike.afterMs, results: (all) => spoil(all, random), ...told };
  }
  if (strike?.kind !== 'review') return { afterMs: chance.of(`review/${id}`).below(5_000) };
  switch (strike.how) {
    case 'stuck':
      return { afterMs: 'never' };
    case 'unknown':
      clock.after(strike.afterMs + 10_000, () => service.finish(id));
      return { afterMs: strike.afterMs, state: 'unknown' };
    case 'forgotten':
      clock.after(strike.afterMs, () => service.end(id, 'missing'));
      return { afterMs: 'never' };
    default:
      return { afterMs: strike.afterMs, state: strike.how };
  }
}

/** Drops, repeats, shuffles and breaks rows: failed, unknown or malformed. */
function spoil(rows: readonly ServiceRow[], random: SeededRandom): ResultLine[] {
  const out: (readonly [order: number, line: ResultLine])[] = [];
  const add = (line: ResultLine) => out.push([random.next(), line]);
  for (const row of rows) {
    const roll = random.next();
    if (roll < 0.2) continue;
    if (roll < 0.35) add(row);
    if (roll > 0.9) add({ ...row, offset: row.offset + 1_000_000 });
    if (roll > 0.8 && roll < 0.85) add({ malformed: 'broken row' });
    add(roll > 0.6 && roll < 0.7 ? { ...row, status: 'error' } : row);
  }
  return out.sort(([a], [b]) => a - b).map(([, line]) => line);
}
