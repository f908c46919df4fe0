/** Operator of a history. Each command runs in its own process, which may be killed. */
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

export class Operator {
  /** Number of commands by outcome. */
  readonly outcomes = new Map<string, number>();
  readonly #world: () => World;
  readonly #kind: string;
  readonly #promises: Promises;
  readonly #accuse: (violation: Violation) => void;
  readonly #note: (line: string) => void;
  readonly #running = new Set<VirtualProcess>();
  #given = 0;
  #resumed = false;

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

  /** Starts a command. @returns false if there is no journal yet */
  gives(action: Extract<Action, { do: 'command' }>): boolean {
    const { command, waits, killedAfter } = action;
    const world = this.#world();
    if (world.kafka.cluster.partitions(TOPICS.journal) === 0) return false;
    const process = new VirtualProcess(`operator${++this.#given}`, world.clock);
    if (killedAfter !== undefined) process.afterSteps(killedAfter, () => process.kill());
    void this.#run(process, { command, by: 'simulation', reason: undefined }, waits);
    return true;
  }

  /** Repeats `resume` until every replica has applied it. */
  resume(): void {
    for (const process of this.#running) process.kill();
    if (this.#given > 0) void this.#resume();
    else this.#resumed = true;
  }

  /** True after the last `resume` has taken effect. */
  get resumed(): boolean {
    return this.#resumed;
  }

  async #resume(): Promise<void> {
    const last = { command: 'resume', by: 'simulation', reason: undefined } as const;
    let outcome: ControlOutcome | 'refused' | 'failed';
    do {
      const process = new VirtualProcess('operator', this.#world().clock);
      outcome = await this.#run(process, last, true);
      // A request of a killed command may still arrive and fence this command.
    } while (outcome === 'unfinished' || outcome === 'refused');
    this.#resumed = outcome === 'reached' || outcome === 'written';
    if (!this.#resumed) this.#accuse(new Violation('command', `resume: ${outcome}`));
  }

  async #run(
    process: VirtualProcess,
    given: GivenCommand,
    waits: boolean,
  ): Promise<ControlOutcome | 'refused' | 'failed'> {
    this.#running.add(process);
    const outcome = await this.#outcomeOf(process, given, waits).catch((error: unknown) => {
      if (error instanceof Violation) this.#accuse(error);
      else if (!(error instanceof InspectError) && !String(error).includes('scripted'))
        this.#accuse(new Violation('error', String(error), { cause: error }));
      this.#note(`${process.name} ${given.command}: ${String(error)}`);
      const isRefused = error instanceof InspectError && error.failure === 'refused';
      return isRefused ? 'refused' : 'failed';
    });
    this.#running.delete(process);
    this.#note(`${process.name} ${given.command}: ${outcome}`);
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
    const { outcome, control } = await giveCommand(tools, given, {
      timeoutMs: waits ? WAIT_MS : 0,
      onProgress: () => {},
      signal: new AbortController().signal,
    });
    if (outcome === 'reached' && given.command === 'drain')
      this.#promises.reported(control.revision);
    return outcome;
  }
}
