/** Text of /metrics, which all scrapers of a moment share: 120 of them kept the probes waiting. */
import type { PromMetrics } from '../metrics/metrics.ts';
import type { Health } from './health.ts';

/** Share of the time that rendering may take, as its inverse. */
const TIMES_AS_LONG = 20;
const MAX_AGE_MS = 1_000;

interface Rendering {
  readonly body: Promise<string>;
  untilMs: number;
}

export class MetricsPage {
  readonly #metrics: Pick<PromMetrics, 'render' | 'contentType'>;
  readonly #publish: () => void;
  readonly #now: () => number;
  /** By content type. */
  readonly #renderings = new Map<string, Rendering>();

  /** @param now monotonic clock, ms */
  constructor(metrics: PromMetrics, health: Health, now: () => number) {
    this.#metrics = metrics;
    this.#publish = () => health.publish(metrics);
    this.#now = now;
  }

  /** @param accept header of the request */
  async text(
    accept: string | undefined,
  ): Promise<{ readonly type: string; readonly body: string }> {
    const type = this.#metrics.contentType(accept);
    const last = this.#renderings.get(type);
    if (last !== undefined && this.#now() < last.untilMs) return { type, body: await last.body };
    const startedMs = this.#now();
    this.#publish();
    const body = this.#metrics.render(accept);
    const rendering: Rendering = { body, untilMs: startedMs + MAX_AGE_MS };
    this.#renderings.set(type, rendering);
    try {
      return { type, body: await body };
    } finally {
      const tookMs = this.#now() - startedMs;
      rendering.untilMs = startedMs + Math.min(MAX_AGE_MS, TIMES_AS_LONG * tookMs);
    }
  }
}
