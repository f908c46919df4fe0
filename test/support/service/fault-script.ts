/**
 * Script of faults for the fake service: an ordered list. An operation takes the first entry that
 * matches it and has hits left; one operation takes at most one fault.
 */
import type {
  Fault,
  FaultOperation,
  FaultSetting,
  FaultSource,
} from '../../../packages/sandbox/src/faults.ts';
import { parsePolicy } from '../../../packages/sandbox/src/policy.ts';

interface Hits {
  /** Only for batches, and decisions, of this content type. */
  readonly match?: { readonly type: string };
  /** Number of matching operations it hits. Default 1. */
  readonly times?: number | 'always';
  /** Number of matching operations before the first hit. Default 0. */
  readonly skip?: number;
}

export type FaultInput = FaultSetting & Hits;

export interface ScriptEntry {
  readonly type: string | undefined;
  readonly times: number;
  /** Number of hits so far. */
  readonly fired: number;
}

interface Entry extends ScriptEntry {
  readonly fault: Fault;
  /** Matching operations that are still left to later entries. */
  skip: number;
  fired: number;
}

export class FaultScript implements FaultSource {
  #entries: Entry[] = [];

  constructor(faults: readonly FaultInput[]) {
    this.replace(faults);
  }

  /** Uses up one hit of the first entry for this operation on this content type. */
  take(operation: FaultOperation, type: string | undefined): Fault | undefined {
    for (const entry of this.#entries) {
      if (entry.fault.operation !== operation || (entry.type ?? type) !== type) continue;
      if (entry.fired >= entry.times || entry.skip-- > 0) continue;
      entry.fired++;
      return entry.fault;
    }
    return undefined;
  }

  /** Replaces the whole script, counters included. @throws InvalidSandboxInput */
  replace(faults: readonly FaultInput[]): void {
    const { faults: settings } = parsePolicy({
      faults: faults.map(({ match: _, times: __, skip: ___, ...setting }) => setting),
    });
    this.#entries = faults.map(({ match, times = 1, skip = 0 }, index) => ({
      fault: settings[index] as Fault,
      type: match?.type,
      times: times === 'always' ? Infinity : times,
      skip,
      fired: 0,
    }));
  }

  /** Removes the entries for this content type alone; the others keep their counts. */
  drop(type: string): void {
    this.#entries = this.#entries.filter((entry) => entry.type !== type);
  }

  /** The script in its order, with the hits of each entry. */
  entries(): readonly ScriptEntry[] {
    return this.#entries.map(({ type, times, fired }) => ({ type, times, fired }));
  }
}
