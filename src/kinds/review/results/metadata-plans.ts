/** Plans by which the metadata of decisions are put together, one for each shape that a reference names (metadata-shape.ts). */
import { parseShape } from '../metadata/metadata-shape.ts';
import type { ResultHeader } from './result-header.ts';
import { TextMemo } from './text-memo.ts';

/** Memory of the shapes remembered at a time; a producer has few. */
const MAX_HELD_BYTES = 8 * 1024 * 1024;
/** Memory of a part. */
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
  /** Plans by shape; undefined for one that names a column twice, or one that the file lacks. */
  readonly byShape = new TextMemo(
    (shape) => this.#make(shape),
    (plan) => PART_BYTES * (plan?.length ?? 0),
    MAX_HELD_BYTES,
  );
  readonly #claimed: Uint8Array;

  constructor(header: ResultHeader) {
    this.#header = header;
    this.#claimed = new Uint8Array(header.width);
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
