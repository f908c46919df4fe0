/** Ordered script of faults for the fake service. An operation gets the fault of the first matching entry with hits left. */
import type {
  Faults,
  RequestFault,
  RequestOperation,
  WorkFault,
  WorkOperation,
} from '../../../packages/sandbox/src/faults.ts';
import { type FaultSetting, isOfWork, ScriptedFaults } from './scripted-faults.ts';

interface Hits {
  /** An entry keeps the hit count of the entry with the same name in the script that it replaces. */
  readonly name?: string;
  /** Restricts the entry to batches and decisions of this content type. */
  readonly match?: { readonly type: string };
  /** Number of matching operations to hit. Default: 1. */
  readonly times?: number | 'always';
  /** Number of matching operations before the first hit. Default: 0. */
  readonly skip?: number;
}

export type FaultInput = FaultSetting & Hits;

export interface ScriptEntry {
  readonly name: string | undefined;
  readonly type: string | undefined;
  readonly times: number;
  /** Number of hits so far. */
  readonly fired: number;
}

interface Entry extends ScriptEntry {
  readonly setting: FaultSetting;
  /** Number of matching operations that the entry still has to skip. */
  skip: number;
  fired: number;
}

export class FaultScript implements Faults {
  readonly #faults = new ScriptedFaults();
  #entries: Entry[] = [];

  constructor(faults: readonly FaultInput[]) {
    this.replace(faults);
  }

  ofRequest(operation: RequestOperation, type: string | undefined): RequestFault {
    const setting = this.#take(operation, type);
    return setting === undefined ? this.#faults.usual(type) : this.#faults.ofRequest(setting, type);
  }

  ofWork(operation: WorkOperation, type: string | undefined): WorkFault | undefined {
    const setting = this.#take(operation, type);
    return setting && this.#faults.ofWork(setting);
  }

  /** Returns the fault of the first entry for this operation and content type, and counts the hit. */
  #take(operation: string, type: string | undefined): FaultSetting | undefined {
    for (const entry of this.#entries) {
      if (entry.setting.operation !== operation || (entry.type ?? type) !== type) continue;
      if (entry.fired >= entry.times || entry.skip-- > 0) continue;
      entry.fired++;
      return entry.setting;
    }
    return undefined;
  }

  /** Replaces the whole script. @throws ValiError for an invalid setting */
  replace(faults: readonly FaultInput[]): void {
    for (const { name: _, match: __, times: ___, skip: ____, ...setting } of faults) {
      if (isOfWork(setting.operation)) this.#faults.ofWork(setting as FaultSetting);
      else this.#faults.ofRequest(setting as FaultSetting, undefined);
    }
    const before = new Map(this.#entries.map(({ name, fired }) => [name, fired]));
    this.#entries = faults.map(({ name, match, times = 1, skip = 0, ...setting }) => ({
      name,
      setting: setting as FaultSetting,
      type: match?.type,
      times: times === 'always' ? Infinity : times,
      skip,
      fired: name === undefined ? 0 : (before.get(name) ?? 0),
    }));
  }

  /** Removes the entries for this content type. The others keep their counts. */
  drop(type: string): void {
    this.#entries = this.#entries.filter((entry) => entry.type !== type);
  }

  /** Returns the script in order, with the hits of each entry. */
  entries(): readonly ScriptEntry[] {
    return this.#entries.map(({ name, type, times, fired }) => ({ name, type, times, fired }));
  }
}
