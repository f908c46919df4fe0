/** Metrics, spans and log fields of the stages of a shard. */
import type { TraceParent } from '../../../packages/client/src/base/tracing.ts';
import type { LiveJob } from '../../core/journal/job.ts';
import type { Labels } from '../../core/ports/telemetry.ts';
import { BatchSpans, spanFields } from './batch-spans.ts';
import type { InternalErrors } from './internal-errors.ts';
import type { PipelineContext } from './pipeline-context.ts';

export class ShardReport {
  readonly spans: BatchSpans;
  readonly internal: InternalErrors;
  readonly #context: PipelineContext;
  readonly #labels: { readonly pipeline: string };

  constructor(context: PipelineContext, shard: number) {
    this.spans = new BatchSpans({ ...context, shard });
    this.internal = context.internal;
    this.#context = context;
    this.#labels = { pipeline: context.options.name };
  }

  /** Adds to a counter of the pipeline. */
  count(name: string, labels: Labels = {}, by = 1): void {
    this.#context.metrics.count(name, { ...this.#labels, ...labels }, by);
  }

  /** Observes into a histogram of the pipeline; see Metrics. */
  observe(name: string, value: number, times = 1, span?: TraceParent): void {
    this.#context.metrics.observe(name, this.#labels, value, times, span);
  }

  /** Observes the duration of a stage, ms. */
  took(stage: string, ms: number): void {
    const labels = { ...this.#labels, stage };
    this.#context.metrics.observe('stage_duration_seconds', labels, Math.max(0, ms) / 1000);
  }

  /** Observes the duration of a stage that began at `startedMs` on the monotonic clock. */
  since(stage: string, startedMs: number): void {
    this.took(stage, this.#context.clock.monotonic() - startedMs);
  }

  /** Fields of a batch in log lines. */
  fieldsOf(job: LiveJob): object {
    const { id, remoteId, type } = job.record;
    return { job: id, batch: remoteId, type, ...spanFields(this.spans.of(job)) };
  }
}
