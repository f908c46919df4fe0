/** Counts what becomes of spans, and says once when they do not arrive: the SDK alone would say it of every batch of them. */
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import type { Logger, Metrics } from '../../core/ports/telemetry.ts';

type Done = Parameters<SpanExporter['export']>[1];

const SUCCESS = 0;

export class CountedExporter implements SpanExporter {
  readonly #exporter: SpanExporter;
  readonly #logger: Logger;
  readonly #metrics: Metrics;
  #failing = false;
  #lost = 0;
  #pending = 0;
  #gaveUp = false;

  constructor(
    exporter: SpanExporter,
    { logger, metrics }: { readonly logger: Logger; readonly metrics: Metrics },
  ) {
    this.#exporter = exporter;
    this.#logger = logger;
    this.#metrics = metrics;
  }

  /** Spans on their way are lost, whatever is heard of them later. @returns how many */
  giveUp(): number {
    const spans = this.#pending;
    this.#gaveUp = true;
    this.#metrics.count('trace_spans_total', { outcome: 'failed' }, spans);
    return spans;
  }

  export(spans: ReadableSpan[], done: Done): void {
    this.#pending += spans.length;
    this.#exporter.export(spans, (result) => {
      this.#pending -= spans.length;
      if (!this.#gaveUp) this.#heard(spans.length, result);
      // What is lost has been told; nobody tries again.
      done({ code: SUCCESS });
    });
  }

  #heard(spans: number, { code, error }: Parameters<Done>[0]): void {
    const sent = code === SUCCESS;
    this.#metrics.count('trace_spans_total', { outcome: sent ? 'exported' : 'failed' }, spans);
    if (sent) this.#arrived();
    else this.#failed(spans, error);
  }

  #arrived(): void {
    if (this.#failing) this.#logger.info({ lost: this.#lost }, 'traces arrive again');
    this.#failing = false;
    this.#lost = 0;
  }

  #failed(spans: number, error: Error | undefined): void {
    this.#lost += spans;
    if (this.#failing) return;
    this.#failing = true;
    this.#logger.warn(
      { spans, error: describe(error) },
      'traces do not arrive at the collector; the pipelines go on without',
    );
  }

  forceFlush(): Promise<void> {
    return this.#exporter.forceFlush?.() ?? Promise.resolve();
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown();
  }
}

/** Never the answer's body. A name with several addresses fails with an error that has no message of its own. */
function describe(error: Error | undefined): string {
  if (error === undefined) return 'unknown';
  const { code } = error as { code?: unknown };
  return error.message || (typeof code === 'string' ? code : error.name);
}
