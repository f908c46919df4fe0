/**
 * Span exporter that counts exported and lost spans and logs an outage of the collector once: the
 * SDK alone would log every batch of spans.
 */
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import type { Logger, Metrics } from '../../core/ports/telemetry.ts';

type ExportCallback = Parameters<SpanExporter['export']>[1];

const SUCCESS = 0;

export class CountedExporter implements SpanExporter {
  readonly #exporter: SpanExporter;
  readonly #logger: Logger;
  readonly #metrics: Metrics;
  /** Spans lost since the collector last accepted some. */
  #lost = 0;
  #pending = 0;
  #gaveUp = false;

  constructor(exporter: SpanExporter, logger: Logger, metrics: Metrics) {
    this.#exporter = exporter;
    this.#logger = logger;
    this.#metrics = metrics;
  }

  /** Counts the spans in flight as lost, whatever the collector answers later. @returns how many */
  giveUp(): number {
    this.#gaveUp = true;
    this.#metrics.count('trace_spans_total', { outcome: 'failed' }, this.#pending);
    return this.#pending;
  }

  export(spans: ReadableSpan[], done: ExportCallback): void {
    this.#pending += spans.length;
    this.#exporter.export(spans, (result) => {
      this.#pending -= spans.length;
      if (!this.#gaveUp) this.#record(spans.length, result);
      // The loss is logged here; the SDK does not retry.
      done({ code: SUCCESS });
    });
  }

  forceFlush(): Promise<void> {
    return this.#exporter.forceFlush?.() ?? Promise.resolve();
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown();
  }

  #record(spans: number, { code, error }: Parameters<ExportCallback>[0]): void {
    const outcome = code === SUCCESS ? 'exported' : 'failed';
    this.#metrics.count('trace_spans_total', { outcome }, spans);
    if (outcome === 'exported') {
      if (this.#lost > 0) this.#logger.info({ lost: this.#lost }, 'trace export recovered');
      this.#lost = 0;
      return;
    }
    if (this.#lost === 0)
      this.#logger.warn(
        { spans, error: describe(error) },
        'trace export failed; the pipelines continue without it',
      );
    this.#lost += spans;
  }
}

/** An AggregateError of several addresses has no message, only a code. Never the response body. */
function describe(error: (Error & { code?: unknown }) | undefined): string {
  return error?.message || String(error?.code ?? error?.name ?? 'unknown');
}
