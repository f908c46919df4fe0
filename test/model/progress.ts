/**
 * Encoding of a progress record. As a set: a bit for each claimed record. As cursors: three bits
 * each for the watermark of both partitions, then for the cursor of each partition and type.
 */
import { type Rules, type Scenario, type SourceRecord, UNDECODABLE } from './rules.ts';

const BITS = 3;
const MASK = 7;
const watermarkShift = (partition: number): number => BITS * partition;
const cursorShift = (partition: number, type: number): number =>
  2 * BITS + BITS * (partition * 2 + type);

export class Progress {
  readonly #rules: Rules;
  readonly #scenario: Scenario;

  constructor(rules: Rules, scenario: Scenario) {
    this.#rules = rules;
    this.#scenario = scenario;
  }

  isClaimed(progress: number, index: number): boolean {
    if (this.#rules.progress === 'set') return ((progress >> index) & 1) === 1;
    const { partition, offset } = this.#record(index);
    if (offset < ((progress >> watermarkShift(partition)) & MASK)) return true;
    const type = this.#cursorType(index);
    return type !== undefined && offset < ((progress >> cursorShift(partition, type)) & MASK);
  }

  claimed(progress: number): number {
    let mask = 0;
    for (let r = 0; r < this.#scenario.records.length; r++)
      if (this.isClaimed(progress, r)) mask |= 1 << r;
    return mask;
  }

  /** The group's committed offset of a partition; 0 where there is none. */
  watermark(progress: number, partition: number): number {
    const offsets = this.#scenario.partitions[partition];
    if (offsets === undefined) return 0;
    if (this.#rules.progress === 'cursors') return (progress >> watermarkShift(partition)) & MASK;
    const first = offsets.findIndex((index) => ((progress >> index) & 1) === 0);
    return first === -1 ? offsets.length : first;
  }

  /** Everything below these watermarks, and nothing above. */
  upTo(watermark0: number, watermark1: number): number {
    const watermarks = [watermark0, watermark1] as const;
    let progress = 0;
    if (this.#rules.progress === 'set') {
      this.#scenario.records.forEach(({ partition, offset }, index) => {
        if (offset < (watermarks[partition] as number)) progress |= 1 << index;
      });
      return progress;
    }
    watermarks.forEach((watermark, partition) => {
      progress |= watermark << watermarkShift(partition);
      for (const type of [0, 1]) progress |= watermark << cursorShift(partition, type);
    });
    return progress;
  }

  /** Progress reduced to the committed offset. */
  withoutClaims(progress: number): number {
    return this.upTo(this.watermark(progress, 0), this.watermark(progress, 1));
  }

  /**
   * Progress to write with the records `taken`, which are now assigned. Cursors are computed from
   * what the memory still waits for.
   * @param waiting records buffered or undecoded, without `taken`
   * @param unseen first offset that intake has not seen, by partition
   */
  after(
    before: number,
    taken: number,
    waiting: number,
    unseen: (partition: number) => number,
  ): number {
    if (this.#rules.progress === 'set') return before | taken;
    let progress = 0;
    this.#scenario.partitions.forEach((offsets, partition) => {
      let watermark = unseen(partition);
      const cursors = [watermark, watermark] as [number, number];
      for (const index of offsets) {
        if (((waiting >> index) & 1) === 0) continue;
        const { offset } = this.#record(index);
        watermark = Math.min(watermark, offset);
        const type = this.#cursorType(index);
        if (type !== undefined) cursors[type] = Math.min(cursors[type], offset);
      }
      progress |= watermark << watermarkShift(partition);
      for (const type of [0, 1] as const) {
        const shift = cursorShift(partition, type);
        const cursor = this.#rules.cursorsOnlyGrow
          ? Math.max(cursors[type], (before >> shift) & MASK)
          : cursors[type];
        progress |= cursor << shift;
      }
    });
    return progress;
  }

  /** undefined: the record is under no cursor. */
  #cursorType(index: number): 0 | 1 | undefined {
    const { type } = this.#record(index);
    if (type !== UNDECODABLE) return type as 0 | 1;
    return this.#rules.undecodableHasType ? 0 : undefined;
  }

  #record(index: number): SourceRecord {
    return this.#scenario.records[index] as SourceRecord;
  }
}
