/**
 * Share of records that become dead letters: in the last minute, and in the hour before it. The
 * counters are sampled, because an open page has no past.
 */
import type { PromMetrics } from '../metrics/metrics.ts';

/** A page shows a minute and up to this more; an hour of samples takes a quarter of a megabyte. */
export const SAMPLE_MS = 15_000;
const MINUTE_MS = 60_000;
const KEPT_MS = 61 * MINUTE_MS;

/** Totals since the start of the process. */
interface Totals {
  readonly consumed: number;
  readonly ended: number;
  /** Dead letters by reason. */
  readonly letters: ReadonlyMap<string, number>;
}

interface Sample extends Totals {
  readonly atMs: number;
}

export interface LetterRate {
  /** Dead letters of the last minute. */
  readonly letters: number;
  /** Records of the last minute: consumed or ended, whichever is more. */
  readonly records: number;
  /** Most frequent first. */
  readonly reasons: readonly { readonly reason: string; readonly letters: number }[];
  /** Share in the hour before; null without records. */
  readonly usual: number | null;
}

const NOTHING: Totals = { consumed: 0, ended: 0, letters: new Map() };

export class LetterRates {
  readonly #metrics: Pick<PromMetrics, 'values'>;
  readonly #now: () => number;
  /** By pipeline, the oldest first. */
  readonly #samples = new Map<string, Sample[]>();

  /** @param now monotonic clock, ms */
  constructor(metrics: Pick<PromMetrics, 'values'>, now: () => number = () => performance.now()) {
    this.#metrics = metrics;
    this.#now = now;
  }

  /** Takes a sample of each pipeline; to be called every SAMPLE_MS. */
  async sample(pipelines: readonly string[]): Promise<void> {
    for (const name of pipelines) {
      const totals = await this.#totals(name);
      const atMs = this.#now();
      const samples = [...(this.#samples.get(name) ?? []), { ...totals, atMs }];
      this.#samples.set(
        name,
        samples.filter((one) => atMs - one.atMs <= KEPT_MS),
      );
    }
  }

  async of(pipeline: string): Promise<LetterRate> {
    const nowMs = this.#now();
    const now = await this.#totals(pipeline);
    const samples = this.#samples.get(pipeline) ?? [];
    const before = samples.findLast(({ atMs }) => nowMs - atMs >= MINUTE_MS) ?? NOTHING;
    const [hour] = samples;
    const first = hour === undefined || hour.atMs > nowMs - 60 * MINUTE_MS ? NOTHING : hour;
    const usual = difference(first, before);
    const minute = difference(before, now);
    const reasons = [...now.letters]
      .map(([reason, total]) => ({ reason, letters: total - (before.letters.get(reason) ?? 0) }))
      .filter(({ letters }) => letters > 0)
      .sort((a, b) => b.letters - a.letters);
    return {
      ...minute,
      reasons,
      usual: usual.records === 0 ? null : usual.letters / usual.records,
    };
  }

  async #totals(pipeline: string): Promise<Totals> {
    const sum = async (name: Parameters<PromMetrics['values']>[0]) =>
      (await this.#metrics.values(name)).filter(({ labels }) => labels.pipeline === pipeline);
    const total = (series: Awaited<ReturnType<typeof sum>>) =>
      series.reduce((all, { value }) => all + value, 0);
    const letters = await sum('dead_lettered_total');
    return {
      consumed: total(await sum('events_consumed_total')),
      ended: total(await sum('decisions_total')) + total(letters),
      letters: new Map(letters.map(({ labels, value }) => [String(labels.reason), value])),
    };
  }
}

function difference(from: Totals, to: Totals) {
  const letters = (totals: Totals) => [...totals.letters.values()].reduce((a, b) => a + b, 0);
  return {
    letters: letters(to) - letters(from),
    records: Math.max(to.consumed - from.consumed, to.ended - from.ended),
  };
}
