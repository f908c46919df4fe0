/** The newest records of the source through the pipeline's own kind, apart from its group: counts, never what they hold (I6). */

import type { UnreadableRecords } from '../../core/ports/kafka.ts';
import type { PipelineKind } from '../../core/ports/pipeline-kind.ts';
import type { PartitionBounds, TopicScan } from '../../core/ports/topic-scan.ts';
import type { SourceRecord } from '../../core/record.ts';
import { eachAtATime, PARTITIONS_AT_A_TIME } from '../inspect/context.ts';
import { type Check, type Finding, failed, ok, together, warning } from './check.ts';
import type { KafkaParts, PipelineParts } from './parts.ts';

const MAX_PARTITIONS = 8;
const RECORDS = 200;
/** Records may be large; some dozen are enough then. */
const MAX_BYTES = 32 * 1024 * 1024;
const LIMIT_MS = 30_000;
/** Producers' clocks are rarely this wrong. */
const AHEAD_MS = 5 * 60_000;

export interface SampleCheck {
  readonly check: Check;
  /** The content type of one of the records that would be taken; undefined when there is none, or before the check. */
  readonly type: () => string | undefined;
}

export function sampleCheck(
  pipeline: PipelineParts,
  { scan }: Pick<KafkaParts, 'scan'>,
  source: Check,
  more: readonly Check[],
): SampleCheck {
  const tally = new Tally(pipeline.decoder);
  const { topic } = pipeline.engine.source;
  const check: Check = {
    name: 'source.sample',
    pipeline: pipeline.name,
    about: `newest records of ${topic}`,
    needs: [source, ...more],
    limitMs: LIMIT_MS,
    async run(signal) {
      const enough = new AbortController();
      const either = AbortSignal.any([enough.signal, signal]);
      await eachAtATime(newest(await scan.bounds(topic)), PARTITIONS_AT_A_TIME, async (range) => {
        if (enough.signal.aborted) return;
        try {
          await readRange(scan, topic, range, tally, either, () =>
            enough.abort(new Error('that is enough')),
          );
        } catch (error) {
          if (signal.aborted || !enough.signal.aborted) throw error;
        }
      });
      return tally.finding(pipeline.inspection.clock.now());
    },
  };
  return { check, type: () => tally.type };
}

interface Range {
  readonly partition: number;
  readonly from: number;
  readonly until: number;
}

async function readRange(
  scan: TopicScan,
  topic: string,
  range: Range,
  tally: Tally,
  signal: AbortSignal,
  enough: () => void,
): Promise<void> {
  await scan.read(
    topic,
    range,
    async ({ records, unreadable }) => {
      await tally.add(records, signal);
      if (unreadable !== undefined) tally.unreadable(unreadable);
      if (tally.bytes >= MAX_BYTES) enough();
    },
    signal,
  );
}

/** The last offsets of some partitions that have any, as many of each. */
function newest(bounds: ReadonlyMap<number, PartitionBounds>): Range[] {
  const filled = [...bounds].filter(([, { start, stable }]) => stable > start);
  const step = Math.max(1, filled.length / MAX_PARTITIONS);
  const chosen = Array.from(
    { length: Math.min(MAX_PARTITIONS, filled.length) },
    (_, n) => filled[Math.floor(n * step)],
  );
  const each = Math.ceil(RECORDS / Math.max(1, chosen.length));
  return chosen.flatMap((one) => {
    if (one === undefined) return [];
    const [partition, { start, stable }] = one;
    return [{ partition, from: Math.max(start, stable - each), until: stable }];
  });
}

class Tally {
  bytes = 0;
  type: string | undefined;
  readonly #kind: PipelineKind;
  readonly #skipped = new Map<string, number>();
  readonly #letters = new Map<string, number>();
  #accepted = 0;
  #newestMs = 0;

  constructor(kind: PipelineKind) {
    this.#kind = kind;
  }

  async add(records: readonly SourceRecord[], signal: AbortSignal): Promise<void> {
    await this.#kind.prepare?.(records, signal);
    for (const record of records) {
      this.bytes += record.value?.length ?? 0;
      this.#newestMs = Math.max(this.#newestMs, record.timestampMs);
      const decoded = this.#kind.decode(record, 0);
      if ('skip' in decoded) count(this.#skipped, decoded.skip);
      else if ('poison' in decoded) count(this.#letters, decoded.poison.reason);
      else {
        this.#accepted++;
        this.type ??= decoded.item.type;
      }
    }
  }

  unreadable({ from, to, poison }: UnreadableRecords): void {
    count(this.#letters, poison.reason, to - from);
  }

  finding(nowMs: number): Finding {
    const [skipped, letters] = [this.#skipped, this.#letters].map((counts) =>
      [...counts.values()].reduce((a, b) => a + b, 0),
    );
    const all = this.#accepted + (skipped ?? 0) + (letters ?? 0);
    if (all === 0) return ok('there is none: nothing to try');
    const taken =
      { review: 'reviewed', import: 'imported', lookup: 'looked up' }[this.#kind.name] ?? 'taken';
    const parts = [
      `${this.#accepted} of ${all} would be ${taken}`,
      ...listed('skipped', this.#skipped),
      ...listed('dead letters', this.#letters),
    ];
    const text = parts.join(', ');
    const findings: Finding[] = [];
    const remedy =
      'see what becomes of one with check --sample, and correct source.format, source.mapping or the producer (docs/mapping.md)';
    if (letters === all) findings.push(failed(text, remedy));
    else if (letters !== 0) findings.push(warning(text, remedy));
    else if (skipped === all)
      findings.push(warning(text, 'look at source.filter and source.nullValues'));
    if (this.#newestMs > nowMs + AHEAD_MS)
      findings.push(
        warning(
          `the newest is ${Math.round((this.#newestMs - nowMs) / 1_000)} s ahead of the clock of this machine`,
          'set the clocks of the producers, or this one, right (NTP)',
        ),
      );
    return together(text, findings);
  }
}

function count(counts: Map<string, number>, key: string, by = 1): void {
  counts.set(key, (counts.get(key) ?? 0) + by);
}

/** `15 skipped (filtered)`, `3 dead letters (2 no_type, 1 not_json)`. */
function listed(what: string, counts: ReadonlyMap<string, number>): string[] {
  if (counts.size === 0) return [];
  const total = [...counts.values()].reduce((a, b) => a + b, 0);
  const each = [...counts]
    .sort(([, a], [, b]) => b - a)
    .map(([reason, number]) => (counts.size === 1 ? reason : `${number} ${reason}`));
  return [`${total} ${what} (${each.join(', ')})`];
}
