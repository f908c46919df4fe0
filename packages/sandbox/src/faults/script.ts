/**
 * Script of faults: an ordered list. An operation takes the first entry that matches it and has
 * hits left; one operation takes at most one fault. The effect of a script depends on nothing but
 * the order of valid requests.
 */
import { validate } from '../input/invalid.ts';
import { type Fault, type FaultInput, type FaultOperation, faultList } from './schema.ts';

export interface ScriptEntry {
  readonly fault: Fault;
  /** Number of hits so far. */
  readonly fired: number;
}

export class FaultScript {
  #entries: { fault: Fault; seen: number; fired: number }[] = [];

  constructor(faults: readonly Fault[]) {
    this.#add(faults);
  }

  /** Uses up one hit of the first entry for this operation on this content type. */
  take(operation: FaultOperation, type: string | undefined): Fault | undefined {
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

  /** Adds faults at the end of the script. @throws InvalidSandboxInput */
  append(faults: readonly FaultInput[]): void {
    this.#add(validate(faultList, faults, 'fault script'));
  }

  /** Replaces the whole script, counters included. @throws InvalidSandboxInput */
  replace(faults: readonly FaultInput[]): void {
    const valid = validate(faultList, faults, 'fault script');
    this.#entries = [];
    this.#add(valid);
  }

  /** Removes the entries for this content type alone; the others keep their counts. */
  drop(type: string): void {
    this.#entries = this.#entries.filter(({ fault }) => fault.match.type !== type);
  }

  /** The script in its order, with the hits of each entry. */
  entries(): readonly ScriptEntry[] {
    return this.#entries.map(({ fault, fired }) => ({ fault, fired }));
  }

  #add(faults: readonly Fault[]): void {
    this.#entries.push(...faults.map((fault) => ({ fault, seen: 0, fired: 0 })));
  }
}
