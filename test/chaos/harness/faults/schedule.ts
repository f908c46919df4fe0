/** Schedule of faults: rounds of all faults in an order drawn from the seed, until the time is over and each fault has hit. */

import type { SourceCoordinate } from '../../../../src/core/record.ts';
import { eventually } from '../../../support/eventually.ts';
import type { SeededRandom } from '../../../support/memory/clock.ts';
import type { FaultInput } from '../../../support/service/fault-script.ts';
import { KINDS, type Kind } from '../../load/pipelines.ts';
import type { Ledger } from '../observe/ledger.ts';
import { STALL_BOUND_MS } from '../observe/observer.ts';
import { Recovery } from '../observe/recovery.ts';
import type { PipelineRun } from '../pipeline-run.ts';
import { REQUEST_MS, SESSION_MS, type World } from '../world.ts';
import { HOSTILE_WRITES, type HostileWrite } from './hostile-writes.ts';
import {
  brokerFreeze,
  brokerKill,
  coordinator,
  rollingBrokers,
  someBroker,
} from './nemeses/brokers.ts';
import { held } from './nemeses/commands.ts';
import { addPartition, resetGroup } from './nemeses/group.ts';
import { lateCommit } from './nemeses/late-commit.ts';
import { noTokens, sessionsEnd } from './nemeses/logins.ts';
import {
  cutOff,
  halfOpen,
  kafkaLatency,
  kafkaReset,
  serviceLatency,
  serviceReset,
  serviceSilence,
} from './nemeses/network.ts';
import { quotas } from './nemeses/quotas.ts';
import { clockStep, kill, killAll, rollingRestart, scale, zombie } from './nemeses/replicas.ts';
import { serviceDown } from './nemeses/service.ts';
import type { Nemesis, Strike } from './nemesis.ts';
import { serviceFaults } from './service-faults.ts';
import { shuffled } from './shuffled.ts';

/** Maximum wait of a record after a fault, ms: a session, a takeover and another review. */
const DUE_MS = SESSION_MS + 30_000;
/**
 * Maximum wait of a record after a fault of the service, ms: the default `review.pause` and `review.poll`, and
 * another review.
 */
const SERVICE_DUE_MS = 60_000;

/** Faults that require the option `reauth`. The first one disturbs nothing. */
export const SESSIONS_END = 'sessions end';
const LOGIN_FAULTS = [SESSIONS_END, 'token endpoint down'] as const;

/** Faults of processes and networks. A second element replaces DUE_MS for faults after which records may wait longer. */
export const NEMESES: Readonly<Record<string, readonly [Nemesis, dueMs?: number]>> = {
  'kill -9 of a replica': [kill],
  'kill -9 of all replicas': [killAll],
  'zombie (SIGSTOP, SIGCONT)': [zombie],
  'wall clock stepped': [clockStep],
  'rolling restart': [rollingRestart],
  scaling: [scale],
  'kill -9 of a broker': [brokerKill(someBroker)],
  'kill -9 of a group coordinator': [brokerKill(coordinator('group'))],
  'kill -9 of a transaction coordinator': [brokerKill(coordinator('transaction'))],
  'rolling restart of the brokers': [rollingBrokers],
  'frozen broker': [brokerFreeze],
  'Kafka slow': [kafkaLatency],
  'Kafka connections reset': [kafkaReset],
  'replica cut off from Kafka': [cutOff],
  'half-open connections to Kafka': [halfOpen, DUE_MS + 2 * REQUEST_MS],
  'client quotas': [quotas, DUE_MS + 30_000],
  'late EndTxn': [lateCommit('EndTxn')],
  'late TxnOffsetCommit': [lateCommit('TxnOffsetCommit')],
  'late AddOffsetsToTxn': [lateCommit('AddOffsetsToTxn')],
  'late Produce': [lateCommit('Produce')],
  'service down': [serviceDown, SERVICE_DUE_MS],
  'service slow': [serviceLatency, SERVICE_DUE_MS],
  'service connections reset': [serviceReset, SERVICE_DUE_MS],
  'service silent': [serviceSilence, SERVICE_DUE_MS],
  'partition added': [addPartition],
  'group reset': [resetGroup],
  'pause and resume': [held('pause')],
  'drain and resume': [held('drain')],
  [LOGIN_FAULTS[0]]: [sessionsEnd],
  [LOGIN_FAULTS[1]]: [noTokens],
};

/** Extra time for faults that have not hit yet, ms. */
const OVERTIME_MS = 600_000;
/** Time after which a scripted fault without a matching operation is postponed, ms. */
const FAULT_MS = 20_000;
const PAUSE_MS = 700;
/**
 * Age below which records are assumed to wait only for their review, ms. A fault waits at most CALM_MS for all records
 * to be younger.
 */
const CALM_AGE_MS = 10_000;
const CALM_MS = 40_000;

/** Faults after which records may wait for something other than Kafka. */
const OTHER_THAN_KAFKA = /\bservice\b/;

export interface Tally {
  readonly name: string;
  strikes: number;
  /** Number of strikes while work was in flight. */
  hits: number;
  /** Longest time during which Kafka responded but the connector had not recovered, ms. */
  longestRecoveryMs: number;
  /** Longest wait of a record after the end of a fault, ms. */
  longestDueMs: number;
}

export class Schedule {
  readonly violations: string[] = [];
  readonly #world: World;
  readonly #random: SeededRandom;
  readonly #endMs: number;
  readonly #onStrike: (kind: string, strike: Strike, tookMs: number) => void;
  readonly #tallies = new Map<string, Tally>();
  readonly #names: readonly string[];
  /** Current fault of each pipeline's service, by name. */
  readonly #armed = new Map<string, FaultInput>();
  /** Pipeline whose service has no faults, for measuring the wait after a fault. */
  #calm: PipelineRun | undefined;
  #mainDone = false;
  /** `performance.now()` at the end of the last fault other than hostile writes. */
  #calmSinceMs = Number.POSITIVE_INFINITY;
  #longestWriteMs = 0;

  /** @param names faults to use, from `allFaults` */
  constructor(
    world: World,
    random: SeededRandom,
    minutes: number,
    names: readonly string[],
    onStrike: (name: string, strike: Strike, tookMs: number) => void,
  ) {
    this.#names = names;
    this.#world = world;
    this.#random = random;
    this.#endMs = performance.now() + minutes * 60_000;
    this.#onStrike = onStrike;
    for (const name of names)
      this.#tallies.set(name, {
        name,
        strikes: 0,
        hits: 0,
        longestRecoveryMs: 0,
        longestDueMs: 0,
      });
  }

  get tallies(): readonly Tally[] {
    return [...this.#tallies.values()];
  }

  /** Longest time from a hostile write to its last terminal record, ms. */
  get longestWriteMs(): number {
    return this.#longestWriteMs;
  }

  /**
   * Runs faults of processes and networks one by one. Concurrently, runs hostile writes and service faults for each
   * pipeline.
   */
  async run(): Promise<void> {
    const nemeses = this.#names.filter((name) => name in NEMESES);
    const main = this.#rounds(nemeses, (name) =>
      this.#strike(name, ...(NEMESES[name] as [Nemesis, number?])),
    ).finally(() => {
      this.#mainDone = true;
    });
    const beside = KINDS.map((kind) => {
      const faults = serviceFaults(kind);
      const names = this.#names.filter((name) => faults.has(name));
      return this.#rounds(names, (name) =>
        this.#serviceFault(name, faults.get(name) as FaultInput, kind),
      );
    });
    const hostile = this.#names.filter((name) => HOSTILE_WRITES.has(name));
    const written = this.#world.pipelines.map((run) =>
      this.#rounds(hostile, (name) =>
        this.#hostileWrite(name, HOSTILE_WRITES.get(name) as HostileWrite, run),
      ),
    );
    const calm = Promise.all([main, ...beside]).then(() => {
      this.#calmSinceMs = performance.now();
    });
    await Promise.all([calm, ...written]);
    for (const { name, hits } of this.tallies)
      if (hits === 0) this.violations.push(`"${name}" never hit work in flight`);
  }

  async #rounds(names: readonly string[], strike: (name: string) => Promise<void>) {
    if (names.length === 0) return;
    const missed = () => names.filter((name) => this.#tallies.get(name)?.hits === 0);
    const isOver = () => performance.now() > this.#endMs;
    const isLate = () => performance.now() > this.#endMs + OVERTIME_MS;
    while (!isOver() || (missed().length > 0 && !isLate())) {
      for (const name of shuffled(isOver() ? missed() : names, this.#random)) {
        this.#world.signal.throwIfAborted();
        // After the end, only faults that have not hit yet are run.
        if (isLate() || (isOver() && !missed().includes(name))) continue;
        await strike(name);
      }
    }
  }

  async #strike(name: string, nemesis: Nemesis, dueMs = DUE_MS): Promise<void> {
    const calm = await this.#calmOne();
    const startedMs = performance.now();
    const tally = this.#tallies.get(name) as Tally;
    tally.strikes++;
    try {
      const strike = await nemesis(this.#world, this.#random);
      if (strike.hit) tally.hits++;
      await Promise.all([
        this.#back(tally, strike),
        this.#recovered(name),
        this.#decided(tally, calm, dueMs),
      ]);
      this.#onStrike(name, strike, performance.now() - startedMs);
    } catch (error) {
      this.#world.signal.throwIfAborted();
      this.violations.push(`"${name}": ${error instanceof Error ? error.message : String(error)}`);
      this.#onStrike(name, { hit: false, note: String(error) }, performance.now() - startedMs);
    } finally {
      this.#calm = undefined;
    }
    await this.#world.sleep(this.#random.below(PAUSE_MS));
  }

  /** Disables the service faults of one pipeline, and waits until its records are decided quickly again. */
  async #calmOne(): Promise<PipelineRun> {
    const pipelines = this.#world.pipelines.filter(({ isLimited }) => !isLimited);
    const run = pipelines[this.#random.below(pipelines.length)] as PipelineRun;
    this.#calm = run;
    const isOver = () => performance.now() - (run.ledger.oldestDueMs ?? Infinity) < CALM_AGE_MS;
    await eventually(`records of ${run.kind} are decided quickly`, isOver, {
      deadlineMs: CALM_MS,
      everyMs: 50,
    }).catch(() => undefined);
    return run;
  }

  /** Checks that each record gets its terminal record within the bound. Time without a processor does not count. */
  async #decided(tally: Tally, { kind, ledger }: PipelineRun, boundMs: number): Promise<void> {
    const recovery = new Recovery(this.#world, false);
    const overMs = performance.now();
    let starvedMs = 0;
    while ((ledger.oldestDueMs ?? Infinity) <= overMs) {
      await this.#world.sleep(50);
      starvedMs += recovery.starvedMs();
      const waitedMs = performance.now() - overMs - starvedMs;
      tally.longestDueMs = Math.max(tally.longestDueMs, waitedMs);
      if (waitedMs > boundMs) {
        this.violations.push(
          `"${tally.name}": a record of ${kind} has no terminal record after ${boundMs} ms`,
        );
        break;
      }
    }
    await recovery.close();
  }

  /** Checks that all replicas are members again and records flow soon after Kafka responds. */
  async #back(tally: Tally, { sessionEndsMs = 0 }: Strike): Promise<void> {
    const recovery = new Recovery(this.#world, !OTHER_THAN_KAFKA.test(tally.name));
    try {
      const { ms, missing } = await recovery.end(sessionEndsMs);
      tally.longestRecoveryMs = Math.max(tally.longestRecoveryMs, Math.round(ms));
      if (missing.length > 0)
        this.violations.push(
          `"${tally.name}": ${Math.round(ms)} ms after Kafka responded again: ${missing.join('; ')}`,
        );
    } finally {
      await recovery.close();
    }
  }

  /** Checks that every partition with outstanding records gets a terminal record again. */
  async #recovered(name: string): Promise<void> {
    const { observer } = this.#world;
    const sinceMs = performance.now();
    const moved = () => observer.owingSinceMs().every((movedMs) => movedMs > sinceMs);
    await eventually(`every partition progresses after "${name}"`, moved, {
      deadlineMs: STALL_BOUND_MS,
      everyMs: 50,
    }).catch(async ({ message }: Error) => {
      throw new Error(`${message} (${await observer.obstacles()})`);
    });
  }

  /** Injects a hostile write. It counts as a hit if Kafka has all of it and each of its records has its terminal record. */
  async #hostileWrite(
    name: string,
    write: HostileWrite,
    { producer, ledger }: PipelineRun,
  ): Promise<void> {
    const { signal } = this.#world;
    const tally = this.#tallies.get(name) as Tally;
    tally.strikes++;
    const writtenMs = performance.now();
    try {
      const places = await producer.writeHostile(write);
      if (places !== undefined) {
        await this.#settled(places, ledger);
        this.#longestWriteMs = Math.max(this.#longestWriteMs, performance.now() - writtenMs);
        if (places.every(({ partition, offset }) => ledger.isDone(partition, offset))) tally.hits++;
      }
    } catch (error) {
      signal.throwIfAborted();
      this.violations.push(`"${name}": ${error instanceof Error ? error.message : String(error)}`);
    }
    await this.#world.sleep(this.#mainDone ? 100 : this.#random.below(1_500));
  }

  /**
   * Resolves when every record is settled. There is no time limit while faults strike, because the next owner has to
   * repeat the attempt of each owner that dies.
   */
  async #settled(places: readonly SourceCoordinate[], ledger: Ledger): Promise<void> {
    for (;;) {
      const open = places.filter(({ partition, offset }) => !ledger.isSettled(partition, offset));
      if (open.length === 0) return;
      if (performance.now() - this.#calmSinceMs > STALL_BOUND_MS) {
        const named = open.map(({ partition, offset }) => `${partition}:${offset}`).join();
        throw new Error(`${STALL_BOUND_MS} ms after the last fault ${named} are not settled`);
      }
      await this.#world.sleep(100);
    }
  }

  async #serviceFault(name: string, fault: FaultInput, kind: Kind): Promise<void> {
    const { signal } = this.#world;
    const isCalm = () => this.#calm?.kind === kind;
    while (isCalm()) await this.#world.sleep(100);
    const tally = this.#tallies.get(name) as Tally;
    const { times = 1 } = fault;
    const startedMs = performance.now();
    this.#armed.set(name, { ...fault, name });
    const script = () => this.#world.sandbox.setFaults([...this.#armed.values()]).catch(() => []);
    let fired = 0;
    while (fired < Number(times) && performance.now() < startedMs + FAULT_MS && !isCalm()) {
      signal.throwIfAborted();
      fired = (await script()).find((entry) => entry.name === name)?.fired ?? fired;
      await this.#world.sleep(100);
    }
    this.#armed.delete(name);
    await script();
    if (fired > 0) {
      tally.strikes += fired;
      tally.hits += fired;
    }
    await this.#world.sleep(this.#mainDone ? 100 : this.#random.below(1_500));
  }
}

/** Returns the names of all faults, as in the report. @param withLogins true if logins end */
export const allFaults = (withLogins: boolean): readonly string[] => [
  ...Object.keys(NEMESES).filter((name) => withLogins || !LOGIN_FAULTS.some((one) => one === name)),
  ...HOSTILE_WRITES.keys(),
  ...KINDS.flatMap((kind) => [...serviceFaults(kind).keys()]),
];
