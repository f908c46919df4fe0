/** Findings of audits that continue one another. */
import type { auditFrom } from './audit.ts';
import type { SettledCounts } from './balance.ts';

/** Sums of what is settled; the rest of the range is counted again by the next audit. */
export class Findings {
  readonly #settled = { records: 0, missing: 0, double: 0, unknown: 0, withoutSource: 0 };

  /** Returns the counts of all audits so far: of what is settled, and of the rest as this one found it. */
  add({ report, late }: Awaited<ReturnType<typeof auditFrom>>): SettledCounts {
    const settled = this.#settled;
    settled.double += late;
    const counts = { ...settled };
    for (const key of Object.keys(counts) as (keyof SettledCounts)[]) {
      counts[key] += report.totals[key];
      for (const balance of report.partitions) settled[key] += balance.settled[key];
    }
    return counts;
  }
}
