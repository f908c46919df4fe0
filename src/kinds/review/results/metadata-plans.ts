/** Plans for the metadata of decisions, one per shape of a reference (metadata-shape.ts). */
import { parseShape } from '../metadata/metadata-shape.ts';
import { CellMemo } from './cell-memo.ts';
import type { ResultHeader } from './result-header.ts';

/** Memory of the cached plans; a producer has few shapes. */
const MAX_HELD_BYTES = 8 * 1024 * 1024;
/** Memory of a part. */
const PART_BYTES = 300;

export interface MetadataPart {
  /** Column. */
  readonly index: number;
  /** `"key":`, preceded by a comma from the second on. */
  readonly lead: Buffer;
  /** True for a JSON cell, false for a text. */
  readonly json: boolean;
}

export type MetadataPlan = readonly MetadataPart[];

export class MetadataPlans {
  readonly #header: ResultHeader;
  /** Plans by shape; undefined for a shape that names a column twice or a missing one. */
  readonly byShape = new CellMemo(
    (shape) => this.#make(shape),
    (plan) => PART_BYTES * (plan?.length ?? 0),
    MAX_HELD_BYTES,
  );
  readonly #claimed: Uint8Array;

  constructor(header: ResultHeader) {
    this.#header = header;
    this.#claimed = new Uint8Array(header.width);
  }

  /** Marks the column of an uploaded key whose values it could not hold. */
  claim(key: string): void {
    const index = this.#header.others.get(key);
    if (index !== undefined) this.#claimed[index] = 1;
  }

  /** Returns the columns that no row has used. */
  unclaimed(): number[] {
    return [...this.#header.others.values()].filter((index) => this.#claimed[index] === 0);
  }

  #make(shape: string): MetadataPlan | undefined {
    const { others, width } = this.#header;
    const parts = new Map<number, MetadataPart>();
    // A shape with more entries is invalid anyway.
    for (const { key, json } of parseShape(shape, width + 1)) {
      const index = others.get(key);
      // No upload names a column twice. A large cell, named many times in a small row, would not
      // fit into memory.
      if (index === undefined || parts.has(index)) return undefined;
      this.#claimed[index] = 1;
      const lead = Buffer.from(`${parts.size === 0 ? '' : ','}${JSON.stringify(key)}:`);
      parts.set(index, { index, lead, json });
    }
    return [...parts.values()];
  }
}
