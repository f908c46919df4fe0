/**
 * One history of the real engine in a world in memory. First a script injects faults; then the faults stop, every
 * record must settle, and every resource must be released. The same script gives the same history.
 */
import { Decisions } from '../../memory/service/decision-service.ts';
import { TOPICS, World, type WorldSettings } from '../world.ts';
import { act, type Stage } from './actions.ts';
import { Cast, tracedLogger } from './cast.ts';
import { scheduleOf } from './chance.ts';
import { clusterFaults, serviceFaults } from './faults.ts';
import { Judge } from './judges/judge.ts';
import { Obligations } from './judges/obligations.ts';
import { Promises } from './judges/promises.ts';
import { assertAtRest, assertNothingLeft } from './judges/rest.ts';
import { Truth } from './judges/truth.ts';
import { Violation } from './judges/violation.ts';
import { GRACE_MS, kindOfHistory } from './kinds.ts';
import { Operator } from './operator.ts';
import { type Action, kindOf, type PlacedStrike, type Script, type Shape } from './script.ts';
import { addTo, type Coverage, coverageOf } from './search/coverage.ts';
import { Strikes } from './strikes.ts';

/** Maximum time from the last fault until everything is settled, virtual ms. A transaction without a response takes minutes. */
const SETTLES_MS = 1_800_000;
/** Time for gauges to be reported, positions to be committed, and uploads of lost shards to be abandoned, ms. */
const REST_MS = 25_000;
/** Time for open transactions to time out, ms. */
const ENDING_MS = 35_000;
const STEP_MS = 1_000;
const DAY_MS = 86_400_000;
/** Time after which a history with a daily quota moves to the next day, ms. No history is long enough for a day to end. */
const DAY_TAKES_MS = 180_000;
/** Time limit for settling everything with a daily quota, which may take many days. */
const DAYS_SETTLE_MS = 40 * DAY_TAKES_MS;

export type Weakened = Pick<WorldSettings, 'wrap' | 'cluster'> & {
  /** Delays the client between the sends of a transaction and its commit. */
  readonly beforeCommit?: (world: World) => Promise<void>;
};

export interface PlayOptions {
  /** Ports from which one rule is removed. The harness must then find a violation. */
  readonly weakened?: Weakened | undefined;
  readonly trace?: (line: string) => void;
}

export interface HistoryReport {
  /** Script with every strike that happened. Playing it gives the same history. */
  readonly script: Script;
  readonly violation: Violation | undefined;
  /** Number of strikes and actions, by kind. */
  readonly faults: Coverage;
  readonly coverage: Coverage;
  readonly records: number;
  /** Batches created at the service, and rows that the service received. */
  readonly submitted: { readonly batches: number; readonly rows: number };
  /** Virtual ms from the last fault until everything was settled. */
  readonly settledMs: number;
  /** Commits, submissions and everything else in which histories differ. */
  readonly fingerprint: string;
}

export async function play(script: Script, options: PlayOptions = {}): Promise<HistoryReport> {
  const { seed, shape } = script;
  const faults: Record<string, number> = {};
  let world: World | undefined;
  const theWorld = (): World => world as World;
  const startMs = Date.UTC(2026, 0, 1);
  const note = (line: string) =>
    options.trace?.(
      `${(((world?.clock.monotonic() ?? startMs) - startMs) / 1000).toFixed(3)} ${line}`,
    );
  const strikes = new Strikes(seed, script.strikes, (struck) => {
    addTo(faults, { [kindOf(struck)]: 1 });
    note(`! ${struck.place}#${struck.nth}: ${JSON.stringify(struck.strike)}`);
  });
  const { kind: ofKind = 'review' } = shape;
  const decisions = new Decisions();
  const kind = kindOfHistory(ofKind, TOPICS.source, seed, () => ({
    service: theWorld().service,
    decisions,
  }));
  const obligations = new Obligations(TOPICS, ['decisions', 'dead'], (reason) =>
    isExplained(reason, shape, strikes.struck),
  );
  const truth = new Truth(
    kind,
    'decisions',
    (partition) => theWorld().kafka.cluster.log(TOPICS.source, partition).start,
  );
  const promises = new Promises(TOPICS.journal);
  const judge = new Judge({ obligations, truth, promises }, shape);
  const accuse = (violation: Violation) => judge.accuse(violation);
  const operator = new Operator(theWorld, ofKind, promises, accuse, note);
  const cast = new Cast(theWorld, strikes.struck, note);
  world = new World({
    ...settingsOf(script),
    hooks: {
      ...clusterFaults(strikes, seed, shape, theWorld),
      ...judge.hooks(theWorld),
      beforeCommit: () => options.weakened?.beforeCommit?.(theWorld()),
    },
    kind: kind.make,
    service: {
      ...serviceFaults(strikes, seed, theWorld),
      onUpload: (remoteId) => judge.uploaded(remoteId),
    },
    ...(options.weakened?.cluster === undefined ? {} : { cluster: options.weakened.cluster }),
    wrap: (ports, inside) => {
      const name = `i${inside.instances.length + 1}`;
      const traced =
        options.trace === undefined
          ? ports
          : { ...ports, logger: tracedLogger(name, ports.logger, note) };
      const whole = cast.withHealth(traced);
      return options.weakened?.wrap?.(whole, inside) ?? whole;
    },
  });
  judge.watch(world);
  if (options.trace !== undefined) traceCommits(world, note);
  const stage: Stage = { world, cast, operator, obligations, truth, kind, note };
  let settledMs = 0;
  let violation: Violation | undefined;
  try {
    await trouble(stage, script, judge, (action) => addTo(faults, { [action]: 1 }));
    strikes.on = false;
    settledMs = await peace(stage, judge, script.shape, () => {
      theWorld().service.finishAll();
      decisions.finishAll(theWorld().clock.monotonic());
    });
  } catch (error) {
    violation =
      judge.violation ??
      (error instanceof Violation
        ? error
        : new Violation('error', String(error), { cause: error }));
    note(`VIOLATION ${violation.message}`);
  }
  const coverage = {
    ...coverageOf(world),
    'resets adopted': obligations.resets,
    'terminal records': obligations.terminals,
  };
  addTo(coverage, { [`histories of kind ${ofKind}`]: 1 });
  for (const [said, count] of Object.entries(truth.said))
    addTo(coverage, { [`${ofKind} ends with ${said}`]: count });
  for (const [what, count] of operator.outcomes) addTo(coverage, { [`command: ${what}`]: count });
  addTo(coverage, { 'drains acknowledged': promises.seen.drained });
  for (const [why, count] of cast.ends) addTo(coverage, { [`ended: ${why}`]: count });
  return {
    script: { ...script, strikes: strikes.struck },
    violation,
    faults,
    coverage,
    records: world.produced,
    submitted: submittedTo(world),
    settledMs,
    fingerprint: `${world.clock.now()} ${JSON.stringify(world.service.calls)} ${JSON.stringify(coverage)}`,
  };
}

function submittedTo({ service }: World): HistoryReport['submitted'] {
  const batches = [...service.batches.values()];
  return {
    batches: batches.length,
    rows: batches.reduce((sum, { rows = [] }) => sum + rows.length, 0),
  };
}

/** Runs the part of a history in which faults happen. */
async function trouble(
  stage: Stage,
  script: Script,
  judge: Judge,
  did: (action: string) => void,
): Promise<void> {
  const { world, cast, note } = stage;
  let passedMs = 0;
  const passUntil = async (atMs: number) => {
    while (passedMs < atMs) {
      const stepMs = Math.min(STEP_MS, atMs - passedMs);
      await world.clock.advance(stepMs);
      passedMs += stepMs;
      judge.check();
      cast.keep();
    }
  };
  for (let i = 0; i < script.shape.instances; i++) cast.start();
  for (const event of script.events) {
    await passUntil(event.atMs);
    note(`> ${JSON.stringify(event)}`);
    if (await act(stage, event)) {
      did(event.do);
      if (event.do === 'produce') for (const odd of oddityOf(event)) did(odd);
    }
    judge.check();
  }
  await passUntil(script.untilMs);
}

/** Returns the unusual features of a production, for the coverage. */
function oddityOf({
  oddTimes = false,
  unreadable,
  gap = 0,
}: Extract<Action, { do: 'produce' }>): string[] {
  return [
    ...(oddTimes ? ['odd timestamps'] : []),
    ...(unreadable === undefined ? [] : [`records: ${unreadable}`]),
    ...(gap >= 2 ** 28 ? ['gap of 2^28 offsets'] : []),
  ];
}

/** Runs the history without faults. @returns virtual ms until everything was settled */
async function peace(
  { world, cast, operator, obligations, note }: Stage,
  judge: Judge,
  shape: Shape,
  finishAll: () => void,
): Promise<number> {
  note('faults stop');
  for (const { process, group } of world.instances) {
    process.spare();
    process.thaw();
    group.heal();
  }
  finishAll();
  cast.keep();
  operator.resume();
  let settledMs = 0;
  const limitMs = shape.quotaPerDay === undefined ? SETTLES_MS : DAYS_SETTLE_MS;
  for (; !(operator.resumed && obligations.settled); settledMs += STEP_MS) {
    if (settledMs > limitMs) {
      const missing = obligations.missing();
      throw new Violation(
        'settles',
        `${missing.length} records are not settled (${missing.slice(0, 5)}), live jobs ${obligations.liveJobs()}`,
      );
    }
    await world.clock.advance(STEP_MS);
    judge.check();
    cast.keep();
    // Finishes late uploads whose planned review would never end.
    if (settledMs % 60_000 === 0) finishAll();
    if (shape.quotaPerDay !== undefined && settledMs % DAY_TAKES_MS === DAY_TAKES_MS - STEP_MS)
      nextDay(world, cast);
  }
  note('everything is settled');
  await world.clock.advance(REST_MS);
  judge.check();
  cast.keep();
  assertAtRest(world, cast);
  for (const instance of cast.running) cast.stop(instance);
  await world.clock.advance(ENDING_MS);
  judge.check();
  assertNothingLeft(world, cast);
  judge.checkSilence(world);
  judge.checkQuota(world, shape);
  return settledMs;
}

/** Moves the wall clock to the next day. Stops the instances, because they detect the new day only when they start. */
function nextDay({ clock }: World, cast: Cast): void {
  for (const instance of cast.running) cast.stop(instance);
  clock.correct(DAY_MS);
}

/** True if a dead letter with this reason is expected for a record that decodes and is still in the source. */
function isExplained(
  reason: string | undefined,
  shape: Shape,
  struck: readonly PlacedStrike[],
): boolean {
  if (reason === undefined) return true;
  if (reason === 'rejected_type') return shape.rejectedToDeadLetters;
  return reason === 'too_large' && struckTooLarge(struck);
}

/**
 * True if Kafka refused records for their size. A dead letter that is refused even on its own is sent again with only
 * its coordinates.
 */
const struckTooLarge = (struck: readonly PlacedStrike[]): boolean =>
  struck.some(({ strike }) => strike.kind === 'commit' && strike.fate === 'too-large');

function settingsOf({ seed, shape }: Script): WorldSettings {
  return {
    seed,
    schedule: scheduleOf(seed, shape.latencyMs),
    partitions: shape.partitions,
    budgetBytes: shape.budgetBytes,
    kafka: {
      sessionTimeoutMs: shape.sessionTimeoutMs,
      heartbeatIntervalMs: 2_000,
      rebalanceTimeoutMs: 20_000,
      transactions: { timeoutMs: 30_000, maxMessageBytes: 1_048_588 },
    },
    options: optionsOf(shape),
  };
}

function optionsOf(shape: Shape): NonNullable<WorldSettings['options']> {
  return {
    source: { maxInFlight: shape.maxInFlight },
    batch: {
      maxRows: shape.batchRows,
      maxAgeMs: shape.batchAgeMs,
      types: shape.hasLane ? { a: { maxAgeMs: 200 } } : {},
    },
    quota: {
      rowsPerMinute: shape.quotaPerMinute,
      rowsPerDay: shape.quotaPerDay,
      rowsUnderReview: shape.quotaUnderReview,
    },
    lanes: shape.hasLane ? { a: { share: 0.3 } } : {},
    leapOffsets: 4,
    backlogPart: 3,
    chunk: { maxRows: shape.chunkRows },
    journal: { partitions: shape.shards },
    review: {
      attempts: shape.attempts,
      graceMs: GRACE_MS,
      pauseMs: 4_000,
      onRejectedType: shape.rejectedToDeadLetters ? 'dead-letter' : 'pause',
      ...(shape.maxReviewTimeMs === undefined
        ? {}
        : { maxReviewTimeMs: shape.maxReviewTimeMs, onTimeout: 'error' as const }),
    },
    kafka: { sessionTimeoutMs: shape.sessionTimeoutMs },
    ownershipCheckIntervalMs: 20_000,
    uploadDrainMs: 20_000,
  };
}

function traceCommits({ kafka }: World, note: (line: string) => void): void {
  kafka.transactions.watch(({ transactionalId, records, offsets }) => {
    const writes = records.map(
      ({ topic, record: { key, value } }) => `${topic}:${key}${value === null ? ' ends' : ''}`,
    );
    const commits = offsets.map(({ commit }) => `${commit.partition}@${commit.offset}`);
    note(`${transactionalId} commits ${[...writes, ...commits].join(', ')}`);
  });
}
