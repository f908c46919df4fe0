/** Decodes the newest records of the source as the pipeline would. Reports counts only (I6). */
import { Counts } from '../../../packages/client/src/base/counts.ts';
import type { PartitionBounds } from '../../core/ports/topic-scan.ts';
import type { PipelineParts } from './check.ts';
import { type Diagnosis, type DoctorCheck, failed, ok, together, warning } from './check.ts';

const MAX_PARTITIONS = 8;
const MAX_RECORDS = 200;
const LIMIT_MS = 30_000;
/** Clocks of producers are rarely this wrong. */
const AHEAD_MS = 5 * 60_000;
const ACCEPTED: Readonly<Record<string, string>> = {
  review: 'reviewed',
  import: 'imported',
  lookup: 'looked up',
};

/** @param sampled receives the content type of a record that would be accepted */
export function sampleCheck(
  { engine, inspection, decoder }: PipelineParts,
  sampled: { type?: string },
): DoctorCheck {
  const { topic } = engine.source;
  const { scan, clock } = inspection;
  return {
    name: 'source.sample',
    about: `newest records of ${topic}`,
    needs: ['topic.source', 'registry.source'],
    limitMs: LIMIT_MS,
    async run(signal) {
      const skipped = new Counts();
      const deadLetters = new Counts();
      let accepted = 0;
      let newestMs = 0;
      for (const range of newestRanges(await scan.bounds(topic))) {
        await scan.read(
          topic,
          range,
          async ({ records, unreadable }) => {
            await decoder.prepare?.(records, signal);
            for (const record of records) {
              newestMs = Math.max(newestMs, record.timestampMs);
              const decoded = decoder.decode(record, 0);
              if ('skip' in decoded) skipped.add(decoded.skip);
              else if ('poison' in decoded) deadLetters.add(decoded.poison.reason);
              else {
                accepted++;
                sampled.type ??= decoded.item.type;
              }
            }
            if (unreadable !== undefined)
              deadLetters.add(unreadable.poison.reason, unreadable.to - unreadable.from);
          },
          signal,
        );
      }

      const all = accepted + skipped.total + deadLetters.total;
      if (all === 0) return ok('no records yet');
      const found = `${accepted} of ${all} would be ${ACCEPTED[decoder.name] ?? 'accepted'}${textOf(skipped, 'skipped')}${textOf(deadLetters, deadLetters.total === 1 ? 'dead letter' : 'dead letters')}`;
      const aheadMs = newestMs - clock.now();
      return together(found, [
        judged(found, all, skipped.total, deadLetters.total),
        aheadMs > AHEAD_MS &&
          warning(
            `the newest is ${Math.round(aheadMs / 1_000)} s ahead of the clock of this machine`,
            'set the clocks of the producers or of this machine (NTP)',
          ),
      ]);
    },
  };
}

function judged(
  found: string,
  all: number,
  skipped: number,
  deadLetters: number,
): Diagnosis | false {
  if (deadLetters > 0) {
    const remedy =
      'try one record with check --sample, and correct source.format, source.mapping or the producer (docs/mapping.md)';
    return deadLetters === all ? failed(found, remedy) : warning(found, remedy);
  }
  return skipped === all && warning(found, 'check source.filter and source.nullValues');
}

/** The last offsets of some partitions that have records. */
function newestRanges(bounds: ReadonlyMap<number, PartitionBounds>) {
  const filled = [...bounds].filter(([, { start, stable }]) => stable > start);
  const chosen = filled.slice(0, MAX_PARTITIONS);
  const count = Math.ceil(MAX_RECORDS / chosen.length);
  return chosen.map(([partition, { start, stable }]) => ({
    partition,
    from: Math.max(start, stable - count),
    until: stable,
  }));
}

const textOf = (counts: Counts, what: string): string =>
  counts.total === 0 ? '' : `, ${counts.total} ${what} (${counts.listed().join(', ')})`;
