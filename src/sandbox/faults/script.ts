/**
 * The script of faults: an ordered list. An operation takes the first entry that matches it and has something left; one
 * operation takes at most one fault. Operations ask at the moment they would otherwise be served, so a script's effect
 * depends on nothing but the order of valid requests.
 */
import { validate } from '../policy/invalid.ts';
import { type Fault, type FaultInput, faultList, type Operation } from './schema.ts';

export interface ScriptEntry {
  readonly fault: Fault;
  /** How often it has hit. */
  readonly fired: number;
}

export class FaultScript {
  #entries: { fault: Fault; seen: number; fired: number }[];

  constructor(faults: readonly Fault[]) {
    this.#entries = entriesOf(faults);
  }

  /** Uses up one shot of the first entry for this operation on this content type; undefined for what has none. */
  take(operation: Operation, type: string | undefined): Fault | undefined {
    for (const entry of this.#entries) {
      const { fault } = entry;
      if (fault.operation !== operation || (fault.match.type ?? type) !== type) continue;
      if (fault.times !== 'always' && entry.fired >= fault.times) continue;
      entry.seen += 1;
      if (entry.seen <= fault.skip) continue;
      entry.fired += 1;
      return fault;
    }
    return undefined;
  }

  /** Puts faults at the script's end. @throws InvalidSandboxInput */
  append(faults: readonly FaultInput[]): void {
    this.#entries.push(...entriesOf(validate(faultList, faults, 'fault script')));
  }

  /** Replaces the whole script, counters included. @throws InvalidSandboxInput */
  replace(faults: readonly FaultInput[]): void {
    this.#entries = entriesOf(validate(faultList, faults, 'fault script'));
  }

  /** Takes the entries that are for this content type alone out of the script; the others keep their counts. */
  drop(type: string): void {
    this.#entries = this.#entries.filter(({ fault }) => fault.match.type !== type);
  }

  /** The script in its order, with how often each entry has hit. */
  entries(): readonly ScriptEntry[] {
    return this.#entries.map(({ fault, fired }) => ({ fault, fired }));
  }
}

function entriesOf(faults: readonly Fault[]) {
  return faults.map((fault) => ({ fault, seen: 0, fired: 0 }));
}
