/** Encoding of a progress record: a bit for each claimed record. */
import type { Scenario } from './rules.ts';

export class Progress {
  readonly #scenario: Scenario;

  constructor(scenario: Scenario) {
    this.#scenario = scenario;
  }

  isClaimed(progress: number, index: number): boolean {
    return ((progress >> index) & 1) === 1;
  }

  /** Returns the group's committed offset of a partition, or 0 if the partition does not exist. */
  watermark(progress: number, partition: number): number {
    const offsets = this.#scenario.partitions[partition];
    if (offsets === undefined) return 0;
    const first = offsets.findIndex((index) => ((progress >> index) & 1) === 0);
    return first === -1 ? offsets.length : first;
  }

  /** Returns the progress with exactly the records below these watermarks. */
  upTo(watermark0: number, watermark1: number): number {
    const watermarks = [watermark0, watermark1] as const;
    let progress = 0;
    this.#scenario.records.forEach(({ partition, offset }, index) => {
      if (offset < (watermarks[partition] as number)) progress |= 1 << index;
    });
    return progress;
  }

  /** Returns the progress reduced to the watermarks. */
  withoutClaims(progress: number): number {
    return this.upTo(this.watermark(progress, 0), this.watermark(progress, 1));
  }
}
