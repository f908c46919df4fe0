/** What the output topics have forgotten. */
import type { Inspection } from './context.ts';
import { CLOCK_MARGIN_MS, firstTimestamp, type Outputs } from './terminal-scan.ts';

export interface OutputGaps {
  /** A source record older than this may have had a terminal record that retention removed since, ms; -Infinity: none was. */
  readonly completeSinceMs: number;
  /** An output is compacted: newer records of a key replace older ones. */
  readonly compacted: boolean;
}

export const NO_GAPS: OutputGaps = { completeSinceMs: Number.NEGATIVE_INFINITY, compacted: false };

/** Asked only when something seems to be missing. */
export async function outputGaps(inspection: Inspection, outputs: Outputs): Promise<OutputGaps> {
  const { admin, pipeline } = inspection;
  let completeSinceMs = Number.NEGATIVE_INFINITY;
  let compacted = false;
  for (const [topic, bounds] of [
    [pipeline.topics.decisions, outputs.decisions],
    [pipeline.topics.deadLetters, outputs.deadLetters],
  ] as const) {
    const policy = (await admin.describeTopic(topic))?.settings.get('cleanup.policy') ?? '';
    compacted ||= policy.includes('compact');
    for (const [partition, { start, end }] of bounds) {
      if (start === 0) continue;
      const oldest = await firstTimestamp(inspection, topic, {
        partition,
        from: start,
        until: end,
      });
      // A producer's clock may be ahead of the connector's: a record may look younger than its own terminal record.
      completeSinceMs = Math.max(
        completeSinceMs,
        (oldest ?? Number.POSITIVE_INFINITY) + CLOCK_MARGIN_MS,
      );
    }
  }
  return { completeSinceMs, compacted };
}
