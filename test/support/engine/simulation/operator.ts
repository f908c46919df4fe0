/** Operator of a history: commands, each a process of its own that may be killed like any other. */
import type { GivenCommand } from '../../../../src/core/journal/control.ts';
import { InspectError } from '../../../../src/tools/inspect/context.ts';
import { type ControlOutcome, giveCommand } from '../../../../src/tools/inspect/control.ts';
import { VirtualProcess } from '../../memory/process.ts';
import { controlOf } from '../inspection.ts';
import { TOPICS, type World } from '../world.ts';
import type { Promises } from './judges/promises.ts';
import { Violation } from './judges/violation.ts';
import type { SimulatedKind } from './kinds.ts';
import type { Action } from './script.ts';

/** Longest wait of a command. */
const WAIT_MS = 60_000;
/** For the journal to be read behind a transaction without an answer. */
const LAST_MS = 600_000;

export class Operator {
  /** Commands by their outcome. */
  readonly outcomes = new Map<string, number>();
  readonly #world: () => World;
  readonly #kind: string;
  readonly #promises: Promises;
  readonly #accuse: (violation: Violation) => void;
  readonly #note: (line: string) => void;
  readonly #running = new Set<VirtualProcess>();
  #given = 0;

  constructor(
    world: () => World,
    kind: SimulatedKind,
    promises: Promises,
    accuse: (violation: Violation) => void,
    note: (line: string) => void,
  ) {
    this.#world = world;
    this.#kind = kind === 'review' ? 'scripted' : kind;
    this.#promises = promises;
    this.#accuse = accuse;
    this.#note = note;
  }

  /** Starts a command. @returns false while there is no journal */
  gives(action: Extract<Action, { do: 'command' }>): boolean {
    const { command, type, forMs, waits, killedAfter } = action;
    const world = this.#world();
    if (world.kafka.cluster.partitions(TOPICS.journal) === 0) return false;
    const untilMs = forMs === undefined ? undefined : world.clock.now() + forMs;
    const process = new VirtualProcess(`operator${++this.#given}`, world.clock);
    if (killedAfter !== undefined) process.afterSteps(killedAfter, () => process.kill());
    void this.#run(process, { command, type, untilMs, by: 'simulation', reason: undefined }, waits);
    return true;
  }

  /** Ends all pauses. @throws Violation when that is not obeyed */
  async resume(): Promise<void> {
    const world = this.#world();
    for (const process of this.#running) process.kill();
    if (this.#given === 0) return;
    const process = new VirtualProcess('operator', world.clock);
    const given = { command: 'resume', by: 'simulation' } as const;
    const last = { ...given, type: undefined, reason: undefined, untilMs: undefined };
    const outcome = await world.through(this.#run(process, last, true), LAST_MS);
    if (outcome !== 'reached' && outcome !== 'written')
      throw new Violation('command', `resume: ${outcome}`);
  }

  async #run(
    process: VirtualProcess,
    given: GivenCommand,
    waits: boolean,
  ): Promise<ControlOutcome | 'failed'> {
    this.#running.add(process);
    const outcome = await this.#outcomeOf(process, given, waits).catch((error: unknown) => {
      if (error instanceof Violation) this.#accuse(error);
      else if (!(error instanceof InspectError) && !String(error).includes('scripted'))
        this.#accuse(new Violation('error', String(error), { cause: error }));
      this.#note(`${process.name} ${given.command}: ${String(error)}`);
      return 'failed' as const;
    });
    this.#running.delete(process);
    this.#note(`${process.name} ${given.command} ${given.type ?? ''}: ${outcome}`);
    const name = `${given.command} ${outcome}`;
    this.outcomes.set(name, (this.outcomes.get(name) ?? 0) + 1);
    return outcome;
  }

  async #outcomeOf(
    process: VirtualProcess,
    given: GivenCommand,
    waits: boolean,
  ): Promise<ControlOutcome> {
    const world = this.#world();
    const tools = controlOf(world, { process, pipeline: { kind: this.#kind } });
    const { outcome, revision } = await giveCommand(tools, given, {
      timeoutMs: waits ? WAIT_MS : 0,
      onProgress: () => {},
      signal: new AbortController().signal,
    });
    if (outcome === 'reached' && given.command === 'drain' && given.type === undefined)
      this.#promises.reported(revision, world.clock.now());
    return outcome;
  }
}
