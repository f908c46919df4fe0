/** How the metadata of a decision is put together, by the shape that its row's reference names (metadata-shape.ts). */
import { parseShape } from '../metadata-shape.ts';
import type { ResultHeader } from '../result-header.ts';

/** Shapes remembered at a time, and their keys together; a producer has few. */
const MAX_PLANS = 1024;
const MAX_PARTS = 32_768;

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
  #parts = 0;
  readonly #claimed: Uint8Array;

  constructor(header: ResultHeader) {
    this.#header = header;
    this.#claimed = new Uint8Array(header.width);
  }

  /** Returns the plan of a shape; undefined when the file lacks a column of it. */
  of(shape: string): MetadataPlan | undefined {
    if (this.#plans.has(shape)) return this.#plans.get(shape);
    const plan = this.#make(shape);
    if (this.#plans.size >= MAX_PLANS || this.#parts >= MAX_PARTS) {
      this.#plans.clear();
      this.#parts = 0;
    }
    this.#plans.set(shape, plan);
    this.#parts += plan?.length ?? 0;
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
    const parts: MetadataPart[] = [];
    for (const { key, json } of parseShape(shape)) {
      const index = this.#header.others.get(key);
      if (index === undefined) return undefined;
      this.#claimed[index] = 1;
      const lead = `${parts.length === 0 ? '' : ','}${JSON.stringify(key)}:`;
      parts.push({ index, lead, leadBytes: Buffer.from(lead), json });
    }
    return parts;
  }
}
