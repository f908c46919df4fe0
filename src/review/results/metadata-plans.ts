/** Plans by which the metadata of decisions are put together, one for each shape that a reference names (metadata-shape.ts). */
import { parseShape } from '../metadata-shape.ts';
import type { ResultHeader } from './result-header.ts';

/** Memory of the shapes remembered at a time; a producer has few. */
const MAX_HELD_BYTES = 8 * 1024 * 1024;
/** Memory of a shape beside its text, and of each of its parts. */
const SHAPE_BYTES = 200;
const PART_BYTES = 300;

export interface MetadataPart {
  /** Column. */
  readonly index: number;
  /** `"key":`, with a comma from the second on. */
  readonly lead: string;
  readonly leadBytes: Buffer;
  /** The cell is JSON; otherwise it is a text. */
  readonly json: boolean;
}

export type MetadataPlan = readonly MetadataPart[];

export class MetadataPlans {
  readonly #header: ResultHeader;
  readonly #plans = new Map<string, MetadataPlan | undefined>();
  #heldBytes = 0;
  readonly #claimed: Uint8Array;

  constructor(header: ResultHeader) {
    this.#header = header;
    this.#claimed = new Uint8Array(header.width);
  }

  /** Returns the plan of a shape; undefined when it names a column twice, or one that the file lacks. */
  of(shape: string): MetadataPlan | undefined {
    if (this.#plans.has(shape)) return this.#plans.get(shape);
    const plan = this.#make(shape);
    const bytes = SHAPE_BYTES + 2 * shape.length + PART_BYTES * (plan?.length ?? 0);
    if (this.#heldBytes + bytes > MAX_HELD_BYTES) {
      this.#plans.clear();
      this.#heldBytes = 0;
    }
    if (bytes <= MAX_HELD_BYTES) {
      this.#plans.set(shape, plan);
      this.#heldBytes += bytes;
    }
    return plan;
  }

  /** Takes note of a key that was uploaded, whose values its column could not hold. */
  claim(key: string): void {
    const index = this.#header.others.get(key);
    if (index !== undefined) this.#claimed[index] = 1;
  }

  /** The columns that no row laid claim to. */
  unclaimed(): number[] {
    return [...this.#header.others.values()].filter((index) => this.#claimed[index] === 0);
  }

  #make(shape: string): MetadataPlan | undefined {
    const { others, width } = this.#header;
    const parts = new Map<number, MetadataPart>();
    // A shape with more entries names a column twice, or one that the file lacks.
    for (const { key, json } of parseShape(shape, width + 1)) {
      const index = others.get(key);
      // No upload names a column twice. A large cell, named many times in a small row, would be more than memory can hold.
      if (index === undefined || parts.has(index)) return undefined;
      this.#claimed[index] = 1;
      const lead = `${parts.size === 0 ? '' : ','}${JSON.stringify(key)}:`;
      parts.set(index, { index, lead, leadBytes: Buffer.from(lead), json });
    }
    return [...parts.values()];
  }
}
