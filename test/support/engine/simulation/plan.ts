/** Draws a history from its seed. Most histories are short, so that many can be run. Each has its own mix of faults. */
import type { SeededRandom } from '../../memory/clock.ts';
import { Chance } from './chance.ts';
import type { SimulatedKind } from './kinds.ts';
import type { Action, Event, Script, Shape, Unreadable } from './script.ts';

/** Actions with their relative frequencies. */
const WEIGHTS: readonly (readonly [
  weight: number,
  draw: (random: SeededRandom, shape: Shape) => Action,
])[] = [
  [6, (random) => ({ do: 'kill', which: random.below(8), steps: random.below(40) })],
  [
    4,
    (random, shape) => ({
      do: 'freeze',
      which: random.below(8),
      steps: random.below(40),
      forMs: drawAbsence(random, shape),
    }),
  ],
  [2, (random) => ({ do: 'stop', which: random.below(8) })],
  [4, () => ({ do: 'start' })],
  [
    2,
    (random, shape) => ({
      do: 'isolate',
      which: random.below(8),
      forMs: drawAbsence(random, shape),
    }),
  ],
  [2, (random) => ({ do: 'crash client', which: random.below(8) })],
  [2, () => ({ do: 'rebalance' })],
  [2, (random) => ({ do: 'expire transaction', which: random.below(8) })],
  [
    4,
    (random) => ({
      do: 'compact',
      share: random.next() < 0.5 ? 1 : random.next(),
      dropTombstones: random.next() < 0.4,
    }),
  ],
  [1, () => ({ do: 'add partition' })],
  [
    1,
    (random) => ({
      do: 'damage',
      partition: random.below(8),
      share: random.next(),
      count: 1 + random.below(4),
    }),
  ],
  [1.5, (random) => ({ do: 'retention', partition: random.below(8), share: random.next() })],
  [
    2,
    (random) => ({
      do: 'reset',
      partition: random.below(8),
      share: random.next() * 1.2 - 0.1,
      killed: random.next() < 0.5,
    }),
  ],
];
const TOTAL_WEIGHT = WEIGHTS.reduce((sum, [weight]) => sum + weight, 0);

const UNREADABLE: readonly Unreadable[] = ['unreadable_batch', 'too_large', 'too_many_headers'];

/** Half of all absences are longer than the session timeout, so that another instance takes over. */
function drawAbsence(random: SeededRandom, { sessionTimeoutMs }: Shape): number {
  return random.next() < 0.5
    ? random.below(sessionTimeoutMs)
    : sessionTimeoutMs + 2_000 + random.below(15_000);
}

/** @param kind replaces the kind that the seed draws */
export function planOf(seed: number, kind = drawKind(new Chance(seed).of('kind'))): Script {
  const chance = new Chance(seed);
  const shape = { kind, ...drawShape(chance.of('shape')) };
  const random = chance.of('events');
  const rounds = random.next() < 0.08 ? 12 + random.below(14) : 3 + random.below(7);
  const restless = random.next();
  const events: Event[] = [];
  let atMs = 0;
  for (let round = 0; round < rounds; round++) {
    if (round === 0 || random.next() < 0.8) events.push({ atMs, ...drawProduce(random) });
    atMs += random.below(5_000);
    while (random.next() < 0.25 + restless * 0.4) {
      events.push({ atMs, ...drawAction(random, shape) });
      atMs += random.below(1_000);
    }
  }
  const untilMs = atMs + random.below(8_000);
  const commands = drawCommands(chance.of('commands'), untilMs);
  const spoilt = commands.length > 0 ? drawSpoilt(chance.of('spoilt commands'), untilMs) : [];
  // Sets no clock with a daily quota, because a correction of the clock also changes the length of a day.
  const steps = shape.quotaPerDay ? [] : drawClockSteps(chance.of('clock'), untilMs);
  return { seed, shape, events: inOrder([...events, ...commands, ...spoilt, ...steps]), untilMs };
}

const inOrder = (events: readonly Event[]): Event[] =>
  events.toSorted((one, other) => one.atMs - other.atMs);

/** Draws an operator's commands for about one history in three. */
function drawCommands(random: SeededRandom, untilMs: number): Event[] {
  if (random.next() > 0.35) return [];
  return Array.from({ length: 1 + random.below(5) }, () => ({
    atMs: random.below(untilMs),
    do: 'command',
    command: (['pause', 'drain', 'drain', 'resume'] as const)[random.below(4)] as 'drain',
    waits: random.next() < 0.7,
    ...(random.next() < 0.15 ? { killedAfter: random.below(40) } : {}),
  }));
}

/** Draws corrections of the wall clock for one history in four. */
function drawClockSteps(random: SeededRandom, untilMs: number): Event[] {
  if (random.next() > 0.25) return [];
  const hours = [-8, -1, 1, 8] as const;
  return Array.from({ length: 1 + random.below(2) }, () => ({
    atMs: random.below(untilMs),
    do: 'step clock',
    byMs: 3_600_000 * (hours[random.below(hours.length)] as number),
  }));
}

function drawSpoilt(random: SeededRandom, untilMs: number): Event[] {
  const values = ['', '{"v":9,"revision":9}', null];
  return Array.from({ length: random.below(4) }, () => ({
    atMs: random.below(untilMs),
    do: 'spoil command',
    which: random.below(2),
    value: values[random.below(values.length)] as string | null,
  }));
}

/** Draws the kind. Half of all histories are reviews, since result files have the most failures. */
function drawKind(random: SeededRandom): SimulatedKind {
  return (['review', 'import', 'review', 'lookup'] as const)[random.below(4)] as SimulatedKind;
}

function drawShape(random: SeededRandom): Shape {
  const pick = <T>(...from: readonly T[]): T => from[random.below(from.length)] as T;
  const reviewLimit = random.next() < 0.15;
  return {
    instances: random.next() < 0.6 ? 2 : 1,
    partitions: 1 + random.below(3),
    shards: 1 + random.below(2),
    batchRows: 1 + random.below(8),
    batchAgeMs: 500 + random.below(2_500),
    chunkRows: 1 + random.below(4),
    attempts: 1 + random.below(3),
    maxInFlight: pick(4, 15, 200_000, 200_000),
    budgetBytes: pick(3_000, 20_000, 1_000_000),
    sessionTimeoutMs: pick(6_000, 9_000),
    latencyMs: pick(0, 5, 20, 20, 200),
    rejectedToDeadLetters: random.next() < 0.3,
    ...(reviewLimit ? { maxReviewTimeMs: 8_000 } : {}),
    hasLane: random.next() < 0.5,
    ...(random.next() < 0.3 ? { quotaPerMinute: pick(8, 20, 60) } : {}),
    ...(random.next() < 0.3 ? { quotaUnderReview: pick(4, 12) } : {}),
    ...(random.next() < 0.15 ? { quotaPerDay: pick(16, 30) } : {}),
  };
}

function drawProduce(random: SeededRandom): Action {
  const transactional = random.next() < 0.1;
  return {
    do: 'produce',
    count: 1 + random.below(9),
    types: 1 + random.below(3),
    poisonEvery: 3 + random.below(8),
    ...(random.next() < 0.2 ? { oddTimes: true } : {}),
    ...(random.next() < 0.12
      ? { unreadable: UNREADABLE[random.below(UNREADABLE.length)] as Unreadable }
      : {}),
    ...(random.next() < 0.1 ? { gap: drawGap(random) } : {}),
    ...(transactional ? { transaction: random.next() < 0.7 ? 'commit' : 'abort' } : {}),
  };
}

/** Draws a gap of offsets. Most gaps exceed the span of an offset bitmap. */
function drawGap(random: SeededRandom): number {
  const sizes = [10, 100_000, 2 ** 28, 2 ** 28, 2 ** 31] as const;
  return (sizes[random.below(sizes.length)] as number) + random.below(300);
}

function drawAction(random: SeededRandom, shape: Shape): Action {
  let roll = random.next() * TOTAL_WEIGHT;
  for (const [weight, draw] of WEIGHTS) {
    roll -= weight;
    if (roll < 0) return draw(random, shape);
  }
  return { do: 'start' };
}
