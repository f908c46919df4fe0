/**
 * The last minutes of each pipeline, for charts: listens to what the engine counts on its way to the metrics. Between two samples
 * it costs an addition per count, and a sample costs the same however much goes on.
 */
import type { Labels, Metrics } from '../../core/ports/telemetry.ts';
import { Durations } from './latency.ts';

export const STEP_MS = 2_000;
/** A quarter of an hour. */
export const SAMPLES = 450;
/** A sample's quantiles are those of this many samples up to it: single batches are too few to tell anything. */
const LATENCY_SAMPLES = 15;
/** More outcomes than the engine has words for. */
const MAX_OUTCOMES = 200;

/** Counters whose labels say how records ended; the words that go before them. */
const OUTCOMES: Readonly<Record<string, string>> = {
  decisions_total: 'decision',
  decision_results_total: 'result',
  dead_lettered_total: 'dead letter',
  events_skipped_total: 'skipped',
  jobs_failed_total: 'failed attempt',
  result_anomalies_total: 'odd result row',
};

export interface Sample {
  readonly atMs: number;
  /** Since the sample before. */
  readonly consumed: number;
  readonly decided: number;
  readonly p50: number | null;
  readonly p95: number | null;
  readonly inFlight: number;
  readonly lag: number;
}

interface Kept extends Sample {
  readonly durations: Durations;
  readonly outcomes: ReadonlyMap<string, number>;
}

export interface OutcomeCount {
  readonly outcome: string;
  readonly recent: number;
  readonly total: number;
}

export class PipelineActivity {
  readonly #samples: Kept[] = [];
  readonly #gauges = new Map<string, number>();
  readonly #totals = new Map<string, number>();
  #consumed = 0;
  #decided = 0;
  #durations = new Durations();
  #outcomes = new Map<string, number>();

  count(name: string, labels: Labels, by: number): void {
    if (name === 'events_consumed_total') this.#consumed += by;
    if (name === 'decisions_total' || name === 'dead_lettered_total') this.#decided += by;
    const word = OUTCOMES[name];
    if (word === undefined || by === 0) return;
    const { pipeline: _, ...why } = labels;
    const outcome = [word, ...Object.values(why)].join(' ');
    if (!this.#totals.has(outcome) && this.#totals.size >= MAX_OUTCOMES) return;
    this.#totals.set(outcome, (this.#totals.get(outcome) ?? 0) + by);
    this.#outcomes.set(outcome, (this.#outcomes.get(outcome) ?? 0) + by);
  }

  set(name: string, value: number | undefined): void {
    if (value === undefined) this.#gauges.delete(name);
    else this.#gauges.set(name, value);
  }

  observe(name: string, value: number, times: number): void {
    if (name === 'event_to_decision_seconds') this.#durations.add(value, times);
  }

  gauge(name: string): number | null {
    return this.#gauges.get(name) ?? null;
  }

  sample(atMs: number): void {
    const durations = this.#durations;
    const near = new Durations();
    for (const { durations: earlier } of this.#samples.slice(1 - LATENCY_SAMPLES))
      near.addAll(earlier);
    near.addAll(durations);
    this.#samples.push({
      atMs,
      consumed: this.#consumed,
      decided: this.#decided,
      p50: near.quantile(0.5),
      p95: near.quantile(0.95),
      inFlight: this.#gauges.get('items_in_flight') ?? 0,
      lag: this.#gauges.get('consumer_lag') ?? 0,
      durations,
      outcomes: this.#outcomes,
    });
    if (this.#samples.length > SAMPLES) this.#samples.shift();
    this.#consumed = 0;
    this.#decided = 0;
    this.#durations = new Durations();
    this.#outcomes = new Map();
  }

  samplesAfter(atMs: number): Sample[] {
    return this.#samples
      .filter((sample) => sample.atMs > atMs)
      .map(({ durations: _, outcomes: __, ...sample }) => sample);
  }

  /** Over the samples after `atMs`. */
  latencyAfter(atMs: number): { readonly p50: number | null; readonly p95: number | null } {
    const all = new Durations();
    for (const sample of this.#samples) if (sample.atMs > atMs) all.addAll(sample.durations);
    return { p50: all.quantile(0.5), p95: all.quantile(0.95) };
  }

  /** How records ended since the start, and after `atMs`: by what is counted, the most first. */
  outcomesAfter(atMs: number): OutcomeCount[] {
    const recent = new Map(this.#outcomes);
    for (const sample of this.#samples) {
      if (sample.atMs <= atMs) continue;
      for (const [outcome, count] of sample.outcomes)
        recent.set(outcome, (recent.get(outcome) ?? 0) + count);
    }
    return [...this.#totals]
      .map(([outcome, total]) => ({ outcome, recent: recent.get(outcome) ?? 0, total }))
      .sort((a, b) => rank(a.outcome) - rank(b.outcome) || b.total - a.total);
  }
}

const WORDS = Object.values(OUTCOMES);
const rank = (outcome: string): number => WORDS.findIndex((word) => outcome.startsWith(word));

/** Metrics that pass through. */
export class Activity implements Metrics {
  readonly #metrics: Metrics;
  readonly #pipelines = new Map<string, PipelineActivity>();

  constructor(metrics: Metrics, pipelines: readonly string[]) {
    this.#metrics = metrics;
    for (const name of pipelines) this.#pipelines.set(name, new PipelineActivity());
  }

  /** @throws Error for a pipeline that it was not made with */
  of(pipeline: string): PipelineActivity {
    const found = this.#pipelines.get(pipeline);
    if (found === undefined) throw new Error(`no pipeline is named ${pipeline}`);
    return found;
  }

  sample(atMs: number): void {
    for (const pipeline of this.#pipelines.values()) pipeline.sample(atMs);
  }

  count(name: string, labels: Labels, by = 1): void {
    this.#metrics.count(name, labels, by);
    this.#of(labels)?.count(name, labels, by);
  }

  set(name: string, labels: Labels, value: number): void {
    this.#metrics.set(name, labels, value);
    this.#of(labels)?.set(name, value);
  }

  remove(name: string, labels: Labels): void {
    this.#metrics.remove(name, labels);
    this.#of(labels)?.set(name, undefined);
  }

  observe(name: string, labels: Labels, value: number, times = 1): void {
    this.#metrics.observe(name, labels, value, times);
    this.#of(labels)?.observe(name, value, times);
  }

  #of(labels: Labels): PipelineActivity | undefined {
    return this.#pipelines.get(String(labels.pipeline));
  }
}
