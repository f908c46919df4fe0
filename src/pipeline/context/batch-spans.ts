/**
 * Spans of a shard's batches. A span lasts from sealing its batch until its last record is settled
 * or has moved to another batch. docs/tracing.md lists the names. Attributes describe the batch.
 * Items appear only as links to their own traces (I6).
 */

import { ServiceError } from '../../../packages/client/src/base/service-error.ts';
import {
  NO_SPAN,
  type Span,
  type SpanAttributes,
  type StepKind,
  type TraceParent,
  type Tracer,
  within,
} from '../../../packages/client/src/base/tracing.ts';
import type { LiveJob } from '../../core/journal/job.ts';
import type { FailureAction } from '../../core/outcome/failure-policy.ts';
import type { JobFailure } from '../../core/outcome/failure-table.ts';
import { TraceLinks } from '../../core/trace-context.ts';
import type { PipelineContext } from './pipeline-context.ts';
import type { Submission } from './submission.ts';

/** Number of links per span that tracing backends accept by default. */
const MAX_LINKS = 128;
/** Maximum length of a content type in a span. Producers can choose types of any length. */
const TYPE_CHARACTERS = 120;

/** Tracer, and the shard that its spans describe. */
type SpanPlace = Pick<PipelineContext, 'tracer' | 'options' | 'kind'> & {
  readonly shard: number;
};

/** Returns a collector for trace contexts, or undefined if tracing is off. @param from job that the items leave */
export function batchLinks(tracer: Tracer, from?: LiveJob): TraceLinks | undefined {
  if (!tracer.enabled) return undefined;
  // If the items leave a batch, one link is reserved for that batch.
  return new TraceLinks(from === undefined ? MAX_LINKS : MAX_LINKS - 1);
}

/** Span of a live job. */
interface OpenSpan {
  readonly span: Span;
  /** Failure of the batch, if it has failed. */
  failure?: JobFailure;
}

export class BatchSpans {
  readonly #place: SpanPlace;
  /** Spans of submissions that are not in a job yet. Empty if tracing is off. */
  readonly #begun = new Set<Span>();
  readonly #open = new Map<LiveJob, OpenSpan>();

  constructor(place: SpanPlace) {
    this.#place = place;
  }

  /** Returns the span of a job, or NO_SPAN once the span has ended. */
  of(job: LiveJob): Span {
    return this.#open.get(job)?.span ?? NO_SPAN;
  }

  /** Starts the span of a batch that will be submitted. */
  begin({ batch, attempt, from }: Submission): Span {
    const { links = [] } = batch.links ?? {};
    const before = from && this.of(from).ids;
    const all = before === undefined ? links : [before, ...links];
    const span = this.#start(batch.length, batch.type, attempt, {}, all);
    if (span !== NO_SPAN) this.#begun.add(span);
    return span;
  }

  /** Ends the span of a submission that does not become a job. */
  discard(span: Span, outcome: 'parked' | 'rejected_type' | 'handed_over'): void {
    if (!this.#begun.delete(span)) return;
    span.set({ 'content_review.outcome': outcome });
    span.end(outcome === 'rejected_type' ? outcome : undefined);
  }

  /** Turns the span of a submission into the span of its job, unless the shard has been lost. */
  adopt(job: LiveJob, span: Span): void {
    if (this.#begun.delete(span)) this.#open.set(job, { span });
  }

  /** Starts the span of a recovered job in a new trace, because the journal contains no trace ids. */
  recovered(job: LiveJob): void {
    const { record, left } = job;
    const span = this.#start(record.count, record.type, record.attempt, {
      'content_review.job': record.id,
      'content_review.batch': record.remoteId,
      'content_review.bytes': record.bytes,
      'content_review.recovered': true,
      'content_review.left': left.size,
    });
    if (span !== NO_SPAN) this.#open.set(job, { span });
  }

  /** Records the failure of a batch. It becomes the outcome of the span, unless the shard is lost first. */
  failed(job: LiveJob, failure: JobFailure, action: FailureAction): void {
    const open = this.#open.get(job);
    if (open === undefined) return;
    open.failure = failure;
    open.span.event('failed', {
      'error.type': failure,
      'content_review.action': action,
      'content_review.left': job.left.size,
    });
  }

  /** Ends the span of a job. Idempotent. @param outcome default: the recorded failure, or `settled` */
  end(job: LiveJob, outcome?: 'handed_over'): void {
    const open = this.#open.get(job);
    if (open === undefined) return;
    this.#open.delete(job);
    const { span, failure } = open;
    span.set({ 'content_review.outcome': outcome ?? failure ?? 'settled' });
    span.end(outcome === undefined ? failure : undefined);
  }

  /** Ends all spans, because the shard is lost. */
  handOver(): void {
    for (const span of [...this.#begun]) this.discard(span, 'handed_over');
    for (const job of [...this.#open.keys()]) this.end(job, 'handed_over');
  }

  /** Runs a transaction that removes records from a job. Ends the job's span if no records remain. */
  async shrinking<T>(job: LiveJob, run: () => Promise<T>): Promise<T> {
    let outcome: 'handed_over' | undefined = 'handed_over';
    try {
      const result = await run();
      outcome = undefined;
      return result;
    } finally {
      if (job.left.size === 0) this.end(job, outcome);
    }
  }

  #start(
    count: number,
    type: string,
    attempt: number,
    attributes: SpanAttributes,
    links: readonly TraceParent[] = [],
  ): Span {
    const { kind, options, tracer, shard } = this.#place;
    if (!tracer.enabled) return NO_SPAN;
    const { topic, group } = options.source;
    return tracer.startBatch(
      // Name in the form `<operation> <destination>` of OpenTelemetry's conventions for messaging.
      `process ${topic}`,
      {
        'messaging.system': 'kafka',
        'messaging.operation.type': 'process',
        'messaging.operation.name': 'process',
        'messaging.destination.name': topic,
        'messaging.consumer.group.name': group,
        'messaging.batch.message_count': count,
        'content_review.pipeline': options.name,
        'content_review.kind': kind.name,
        'content_review.shard': shard,
        'content_review.type': type.slice(0, TYPE_CHARACTERS),
        'content_review.attempt': attempt,
        ...attributes,
      },
      links,
    );
  }
}

/**
 * Runs `run` as a step of a span. Requests to the service become children of the step.
 * @param done returns the attributes of the result
 */
export async function step<T>(
  span: Span,
  name: string,
  attributes: SpanAttributes,
  run: () => Promise<T>,
  { done, kind }: { readonly done?: (result: T) => SpanAttributes; readonly kind?: StepKind } = {},
): Promise<T> {
  if (span === NO_SPAN) return run();
  const part = span.step(name, attributes, kind);
  try {
    const result = await within(part, run);
    if (done !== undefined) part.set(done(result));
    part.end();
    return result;
  } catch (error) {
    part.end(errorType(error));
    throw error;
  }
}

/** Returns the class or failure code of an error, never its message. */
function errorType(error: unknown): string {
  if (error instanceof ServiceError) return error.failure;
  if (!(error instanceof Error)) return 'unknown';
  return 'failure' in error && typeof error.failure === 'string' ? error.failure : error.name;
}

/** Returns the ids of a span for log lines. */
export function spanFields({ ids }: Span): {
  readonly trace_id?: string;
  readonly span_id?: string;
} {
  return ids === undefined ? {} : { trace_id: ids.traceId, span_id: ids.spanId };
}
