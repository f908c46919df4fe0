/** Which fault strikes when: rounds of all of them in an order drawn from the seed, until time is up and each has hit. */
import { eventually } from '../../test/support/eventually.ts';
import type { SeededRandom } from '../../test/support/memory/clock.ts';
import { brokerFreeze, brokerKill } from './nemeses/brokers.ts';
import { addPartition, resetGroup } from './nemeses/group.ts';
import { lateCommit } from './nemeses/late-commit.ts';
import { cutOff, halfOpen, kafkaLatency, kafkaReset, serviceLatency, serviceReset, serviceSilence } from './nemeses/network.ts';
import { kill, killAll, rollingRestart, scale, zombie } from './nemeses/replicas.ts';
import { SERVICE_FAULTS, sandboxKill } from './nemeses/service.ts';
import type { Nemesis, Strike } from './nemesis.ts';
import { shuffled } from './shuffled.ts';
import type { World } from './world.ts';

export const NEMESES: Readonly<Record<string, Nemesis>> = {
  'kill -9 of a replica': kill,
  'kill -9 of all replicas': killAll,
  'zombie (SIGSTOP, SIGCONT)': zombie,
  'rolling restart': rollingRestart,
  scaling: scale,
  'kill -9 of a broker': brokerKill,
  'frozen broker': brokerFreeze,
  'Kafka slow': kafkaLatency,
  'Kafka connections reset': kafkaReset,
  'replica cut off from Kafka': cutOff,
  'half-open connections to Kafka': halfOpen,
  'late EndTxn': lateCommit('EndTxn'),
  'late TxnOffsetCommit': lateCommit('TxnOffsetCommit'),
  'late AddOffsetsToTxn': lateCommit('AddOffsetsToTxn'),
  'late Produce': lateCommit('Produce'),
  'kill -9 of the service': sandboxKill,
  'service slow': serviceLatency,
  'service connections reset': serviceReset,
  'service silent': serviceSilence,
  'partition added': addPartition,
  'group reset': resetGroup,
};

/**
 * Longest stall of a partition that has records due, and longest drain after the last fault, ms. The worst is a request on a
 * half-open connection that times out after 30 s, and a claim that then meets another one.
 */
export const STALL_BOUND_MS = 90_000;
/** Beyond the planned time, for faults that have not hit yet, ms. */
const OVERTIME_MS = 300_000;
/** A scripted fault that found nothing to hit for so long is left for later, ms. */
const FAULT_MS = 20_000;
const PAUSE_MS = 700;

export interface Tally {
  readonly kind: string;
  strikes: number;
  /** While work was in flight. */
  hits: number;
  readonly notes: string[];
}

export class Schedule {
  readonly violations: string[] = [];
  readonly #world: World;
  readonly #random: SeededRandom;
  readonly #endMs: number;
  readonly #onStrike: (kind: string, strike: Strike, tookMs: number) => void;
  readonly #tallies = new Map<string, Tally>();
  readonly #nemeses: readonly string[];
  readonly #faults: readonly string[];
  #mainDone = false;

  /** @param kinds the faults to use, of ALL_KINDS */
  constructor(
    world: World,
    random: SeededRandom,
    plannedMs: number,
    kinds: readonly string[],
    onStrike: (kind: string, strike: Strike, tookMs: number) => void,
  ) {
    this.#nemeses = kinds.filter((kind) => kind in NEMESES);
    this.#faults = Object.keys(SERVICE_FAULTS).filter((name) => kinds.includes(serviceKind(name)));
    this.#world = world;
    this.#random = random;
    this.#endMs = performance.now() + plannedMs;
    this.#onStrike = onStrike;
    for (const kind of kinds) {
      this.#tallies.set(kind, { kind, strikes: 0, hits: 0, notes: [] });
    }
  }

  get tallies(): readonly Tally[] {
    return [...this.#tallies.values()];
  }

  /** Faults of processes and networks one after the other; those of the service beside them. */
  async run(): Promise<void> {
    const main = this.#rounds(this.#nemeses, (kind) => this.#strike(kind, NEMESES[kind] as Nemesis)).finally(() => {
      this.#mainDone = true;
    });
    const faults = this.#rounds(this.#faults, (name) => this.#serviceFault(name), serviceKind);
    await Promise.all([main, faults]);
    for (const { kind, hits } of this.tallies) if (hits === 0) this.violations.push(`"${kind}" never hit work in flight`);
  }

  async #rounds(names: readonly string[], strike: (name: string) => Promise<void>, kindOf = (name: string) => name) {
    if (names.length === 0) return;
    const missed = () => names.filter((name) => this.#tallies.get(kindOf(name))?.hits === 0);
    const isOver = () => performance.now() > this.#endMs;
    const isLate = () => performance.now() > this.#endMs + OVERTIME_MS;
    while (!isOver() || (missed().length > 0 && !isLate())) {
      for (const name of shuffled(isOver() ? missed() : names, this.#random)) {
        this.#world.signal.throwIfAborted();
        // When time is up only those follow that have not hit yet.
        if (isLate() || (isOver() && !missed().includes(name))) continue;
        await strike(name);
      }
    }
  }

  async #strike(kind: string, nemesis: Nemesis): Promise<void> {
    const { observer } = this.#world;
    const startedMs = performance.now();
    observer.label(kind);
    const tally = this.#tallies.get(kind) as Tally;
    tally.strikes++;
    try {
      const strike = await nemesis(this.#world, this.#random);
      if (strike.hit) tally.hits++;
      if (strike.note !== undefined) tally.notes.push(strike.note);
      await this.#recovered(kind);
      this.#onStrike(kind, strike, performance.now() - startedMs);
    } catch (error) {
      this.#world.signal.throwIfAborted();
      this.violations.push(`"${kind}": ${error instanceof Error ? error.message : String(error)}`);
      this.#onStrike(kind, { hit: false, note: String(error) }, performance.now() - startedMs);
    } finally {
      observer.unlabel(kind);
    }
    await this.#world.sleep(this.#random.below(PAUSE_MS));
  }

  /** Every partition that has records due gets a terminal record again. */
  async #recovered(kind: string): Promise<void> {
    const { observer } = this.#world;
    const sinceMs = performance.now();
    const moved = () => [...observer.owingSinceMs().values()].every((movedMs) => movedMs > sinceMs);
    await eventually(`every partition goes on after "${kind}"`, moved, { deadlineMs: STALL_BOUND_MS, everyMs: 50 });
  }

  async #serviceFault(name: string): Promise<void> {
    const { sandbox, observer, signal } = this.#world;
    const kind = serviceKind(name);
    const fault = SERVICE_FAULTS[name];
    if (fault === undefined) return;
    observer.label(kind);
    const tally = this.#tallies.get(kind) as Tally;
    const { times = 1 } = fault;
    const set = () => sandbox.setFaults([fault]);
    const startedMs = performance.now();
    let fired = 0;
    let armed = false;
    while (fired < Number(times) && performance.now() < startedMs + FAULT_MS) {
      signal.throwIfAborted();
      // The script does not outlive the sandbox, which may be killed meanwhile.
      try {
        if (!armed) await set();
        armed = true;
        const entries = await sandbox.faults();
        if (entries.length === 0) armed = false;
        fired = Math.max(fired, entries[0]?.fired ?? 0);
      } catch {
        armed = false;
      }
      await this.#world.sleep(100);
    }
    if (fired > 0) {
      tally.strikes += fired;
      tally.hits += fired;
    }
    await this.#world.sleep(this.#mainDone ? 100 : this.#random.below(1_500));
    observer.unlabel(kind);
  }
}

const serviceKind = (name: string): string => `service: ${name}`;

/** Every fault, as the report names it. */
export const ALL_KINDS: readonly string[] = [...Object.keys(NEMESES), ...Object.keys(SERVICE_FAULTS).map(serviceKind)];
