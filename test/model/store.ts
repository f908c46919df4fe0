/** Store of a search: states, and fair transitions between them. */
import type { Model } from './model.ts';
import { State } from './state.ts';

/** Number that stands for no state. */
export const NOBODY = 0xffffffff;
const LOW = 0x0f0f0f0f;

/** List of numbers in pages, which grows without copying. */
class Pages {
  readonly #pageSize: number;
  readonly #pages: Uint32Array[] = [];
  length = 0;

  constructor(pageSize = 1 << 20) {
    this.#pageSize = pageSize;
  }

  push(value: number): void {
    const page = Math.floor(this.length / this.#pageSize);
    if (page === this.#pages.length) this.#pages.push(new Uint32Array(this.#pageSize));
    (this.#pages[page] as Uint32Array)[this.length++ % this.#pageSize] = value;
  }

  get(index: number): number {
    return (this.#pages[Math.floor(index / this.#pageSize)] as Uint32Array)[
      index % this.#pageSize
    ] as number;
  }
}

/** Set of states. Each has a number, in the order of discovery. */
export class StateSet {
  /** Number of words of a stored state. */
  readonly #words: number;
  readonly #kept: Uint32Array;
  readonly #perPage = 1 << 15;
  readonly #pages: Uint32Array[] = [];
  readonly #parents = new Pages();
  /** Hash table of the states' numbers with open addressing. */
  #index = new Uint32Array(1 << 16).fill(NOBODY);
  size = 0;

  constructor(model: Model) {
    const { length } = new State(model.scenario.slots).words;
    // Every byte of a state is below 16, so two words are packed into one to halve the memory.
    this.#words = length / 2;
    this.#kept = new Uint32Array(this.#words);
  }

  read(id: number, into: State): void {
    const page = this.#pages[Math.floor(id / this.#perPage)] as Uint32Array;
    const at = (id % this.#perPage) * this.#words;
    for (let i = 0; i < this.#words; i++) {
      const word = page[at + i] as number;
      into.words[2 * i] = word & LOW;
      into.words[2 * i + 1] = (word >>> 4) & LOW;
    }
  }

  parent(id: number): number {
    return this.#parents.get(id);
  }

  /** @returns the number of the state, new or known */
  add({ words }: State, parent: number): number {
    const kept = this.#kept;
    for (let i = 0; i < this.#words; i++)
      kept[i] = (words[2 * i] as number) | ((words[2 * i + 1] as number) << 4);
    const mask = this.#index.length - 1;
    let at = hash(kept, 0, this.#words) & mask;
    for (let id = this.#index[at] as number; id !== NOBODY; id = this.#index[at] as number) {
      if (this.#isKept(id)) return id;
      at = (at + 1) & mask;
    }
    const id = this.size++;
    this.#index[at] = id;
    if (id % this.#perPage === 0) this.#pages.push(new Uint32Array(this.#perPage * this.#words));
    (this.#pages[this.#pages.length - 1] as Uint32Array).set(
      kept,
      (id % this.#perPage) * this.#words,
    );
    this.#parents.push(parent);
    if (this.size * 2 > this.#index.length) this.#grow();
    return id;
  }

  /** Frees the index after the last addition. */
  forgetIndex(): void {
    this.#index = new Uint32Array(0);
  }

  #isKept(id: number): boolean {
    const page = this.#pages[Math.floor(id / this.#perPage)] as Uint32Array;
    const at = (id % this.#perPage) * this.#words;
    for (let i = 0; i < this.#words; i++) if (page[at + i] !== this.#kept[i]) return false;
    return true;
  }

  #grow(): void {
    this.#index = new Uint32Array(this.#index.length * 2).fill(NOBODY);
    const mask = this.#index.length - 1;
    for (let id = 0; id < this.size; id++) {
      const page = this.#pages[Math.floor(id / this.#perPage)] as Uint32Array;
      let at = hash(page, (id % this.#perPage) * this.#words, this.#words) & mask;
      while (this.#index[at] !== NOBODY) at = (at + 1) & mask;
      this.#index[at] = id;
    }
  }
}

function hash(words: Uint32Array, from: number, length: number): number {
  let h = 0x9e3779b9;
  for (let i = from; i < from + length; i++) {
    h = Math.imul(h ^ (words[i] as number), 0x85ebca6b);
    h ^= h >>> 13;
  }
  h = Math.imul(h ^ (h >>> 16), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/** Fair transitions by source state: each row contains the targets of a state. */
export class Edges {
  readonly #targets = new Pages();
  readonly #ends = new Pages();

  push(to: number): void {
    this.#targets.push(to);
  }

  endRow(): void {
    this.#ends.push(this.#targets.length);
  }

  /**
   * Returns the transitions by target: those to state `id` come from `sources[starts[id]]` up to, but excluding,
   * `sources[starts[id + 1]]`.
   */
  reversed(states: number): { starts: Float64Array; sources: Uint32Array } {
    const starts = new Float64Array(states + 1);
    for (let edge = 0; edge < this.#targets.length; edge++) {
      const after = this.#targets.get(edge) + 1;
      starts[after] = (starts[after] as number) + 1;
    }
    for (let id = 0; id < states; id++)
      starts[id + 1] = (starts[id + 1] as number) + (starts[id] as number);
    const free = starts.slice(0, states);
    const sources = new Uint32Array(this.#targets.length);
    let edge = 0;
    for (let from = 0; from < states; from++) {
      for (const end = this.#ends.get(from); edge < end; edge++) {
        const to = this.#targets.get(edge);
        const at = free[to] as number;
        free[to] = at + 1;
        sources[at] = from;
      }
    }
    return { starts, sources };
  }
}
