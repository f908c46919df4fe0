/** The sandbox's script of faults, shared by rounds that go on side by side: each has one fault in it at a time. */
import type { FaultInput } from '../../../support/service/fault-script.ts';
import type { Sandbox } from '../../../support/stack/sandbox.ts';

interface Armed {
  readonly fault: FaultInput;
  readonly times: number;
  /** Hits before the script was last written, and in all. */
  before: number;
  fired: number;
}

export class FaultScript {
  readonly #sandbox: Pick<Sandbox, 'faults' | 'setFaults'>;
  readonly #armed = new Map<string, Armed>();
  /** Owners of the entries that were last written, in order. */
  #entries: readonly (string | undefined)[] = [];
  #isStale = false;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(sandbox: Pick<Sandbox, 'faults' | 'setFaults'>) {
    this.#sandbox = sandbox;
  }

  /** From the next look on it strikes what it fits, as often as it says. */
  arm(name: string, fault: FaultInput): void {
    this.#armed.set(name, { fault, times: Number(fault.times ?? 1), before: 0, fired: 0 });
    this.#isStale = true;
  }

  disarm(name: string): void {
    this.#armed.delete(name);
    this.#entries = this.#entries.map((one) => (one === name ? undefined : one));
    this.#isStale = true;
  }

  /** Looks how often it has hit; writes the script when it is not as it should be. @throws Error when the sandbox does not answer */
  async fired(name: string): Promise<number> {
    const look = this.#turn.then(() => this.#look());
    this.#turn = look.catch(() => undefined);
    await look;
    return this.#armed.get(name)?.fired ?? 0;
  }

  async #look(): Promise<void> {
    const found = await this.#sandbox.faults();
    this.#count(found.map(({ fired }) => fired));
    if (this.#isStale) await this.#write();
  }

  #count(fired: readonly number[]): void {
    for (const [index, name] of this.#entries.entries()) {
      const armed = name === undefined ? undefined : this.#armed.get(name);
      if (armed !== undefined) armed.fired = armed.before + (fired[index] ?? 0);
    }
  }

  async #write(): Promise<void> {
    const due = [...this.#armed].filter(([, { times, fired }]) => fired < times);
    // What changes meanwhile is for the next look.
    this.#isStale = false;
    try {
      await this.#sandbox.setFaults(
        due.map(([, { fault, times, fired }]) => ({ ...fault, times: times - fired })),
      );
    } catch (error) {
      this.#isStale = true;
      throw error;
    }
    for (const [, armed] of due) armed.before = armed.fired;
    this.#entries = due.map(([name, armed]) =>
      this.#armed.get(name) === armed ? name : undefined,
    );
  }
}
