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

  /** The group's committed offset of a partition; 0 where there is none. */
  watermark(progress: number, partition: number): number {
    const offsets = this.#scenario.partitions[partition];
    if (offsets === undefined) return 0;
    const first = offsets.findIndex((index) => ((progress >> index) & 1) === 0);
    return first === -1 ? offsets.length : first;
  }

  /** Everything below these watermarks, and nothing above. */
  upTo(watermark0: number, watermark1: number): number {
    const watermarks = [watermark0, watermark1] as const;
    let progress = 0;
    this.#scenario.records.forEach(({ partition, offset }, index) => {
      if (offset < (watermarks[partition] as number)) progress |= 1 << index;
    });
    return progress;
  }

  /** Progress reduced to the committed offset. */
  withoutClaims(progress: number): number {
    return this.upTo(this.watermark(progress, 0), this.watermark(progress, 1));
  }
}
