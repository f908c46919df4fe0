/**
 * The span of a batch, from the moment it is sealed until the last of its records has its terminal record or has moved to another
 * batch (docs/tracing.md has every name). What a shard knows of a batch, it says here; of its items only where their traces are (I6).
 */
import type { LiveJob } from '../../core/journal/job.ts';
import { ServiceError } from '../../core/outcome/service-error.ts';
import { NO_SPAN, type Span, type SpanAttributes } from '../../core/ports/tracing.ts';
import { TraceLinks } from '../../core/trace-context.ts';
import type { PipelineContext } from './pipeline-context.ts';
import type { Submission } from './submission.ts';

/** What tracing backends keep of a span's links by default. */
const MAX_LINKS = 128;
/** Of a content type, which records choose. */
const TYPE_CHARACTERS = 120;

/** Where a batch's span is begun: a shard. */
export interface SpanPlace {
  readonly context: Pick<PipelineContext, 'tracer' | 'options' | 'kind'>;
  readonly shard: number;
}

/** Collector of the trace contexts of a batch's items; undefined while tracing is off. @param from the job that the items leave, if any */
export function batchLinks({ context }: SpanPlace, from?: LiveJob): TraceLinks | undefined {
  if (!context.tracer.enabled) return undefined;
  // One link is kept for the batch that the items leave.
  return new TraceLinks(from === undefined ? MAX_LINKS : MAX_LINKS - 1);
}

/** Starts the span of a batch that is to be submitted. @param before the span of the batch that the items leave, if its owner is this process */
export function startBatchSpan(
  place: SpanPlace,
  { batch, attempt }: Submission,
  before: Span | undefined,
): Span {
  const { tracer } = place.context;
  if (!tracer.enabled) return NO_SPAN;
  const { links = [], traced = 0, unlinked = 0 } = batch.links ?? {};
  return tracer.startBatch(
    nameOf(place),
    {
      ...aboutPlace(place),
      'messaging.batch.message_count': batch.length,
      'content_review.type': batch.type.slice(0, TYPE_CHARACTERS),
      'content_review.attempt': attempt,
      'content_review.traced': traced,
      'content_review.unlinked': unlinked,
    },
    before?.ids === undefined ? links : [{ ...before.ids, flags: 1 }, ...links],
  );
}

/** Of a batch that another owner submitted: a new trace, since the journal does not tell the first one. */
export function recoveredSpan(place: SpanPlace, { record, left }: LiveJob): Span {
  const { tracer } = place.context;
  if (!tracer.enabled) return NO_SPAN;
  return tracer.startBatch(
    nameOf(place),
    {
      ...aboutPlace(place),
      'messaging.batch.message_count': record.count,
      'content_review.type': record.type.slice(0, TYPE_CHARACTERS),
      'content_review.attempt': record.attempt,
      'content_review.job': record.id,
      'content_review.batch': record.remoteId,
      'content_review.bytes': record.bytes,
      'content_review.recovered': true,
      'content_review.left': left.size,
    },
    [],
  );
}

/** Runs a part of a batch as a step of its span. @param done what there is to say when it is through */
export async function step<T>(
  span: Span,
  name: string,
  attributes: SpanAttributes,
  run: () => Promise<T>,
  done?: (result: T) => SpanAttributes,
): Promise<T> {
  if (span === NO_SPAN) return run();
  const part = span.step(name, attributes);
  try {
    const result = await run();
    if (done !== undefined) part.set(done(result));
    part.end();
    return result;
  } catch (error) {
    part.end(errorType(error));
    throw error;
  }
}

/** What kind of failure it was; never its message. */
export function errorType(error: unknown): string {
  if (error instanceof ServiceError) return error.failure;
  if (!(error instanceof Error)) return 'unknown';
  return 'failure' in error && typeof error.failure === 'string' ? error.failure : error.name;
}

/** For log lines. */
export function spanFields({ ids }: Span): {
  readonly trace_id?: string;
  readonly span_id?: string;
} {
  return ids === undefined ? {} : { trace_id: ids.traceId, span_id: ids.spanId };
}

/** `<operation> <destination>`, as the conventions for messaging have it. */
const nameOf = ({ context }: SpanPlace): string => `process ${context.options.source.topic}`;

function aboutPlace({ context: { options, kind }, shard }: SpanPlace): SpanAttributes {
  return {
    'messaging.system': 'kafka',
    'messaging.operation.type': 'process',
    'messaging.operation.name': 'process',
    'messaging.destination.name': options.source.topic,
    'messaging.consumer.group.name': options.source.group,
    'content_review.pipeline': options.name,
    'content_review.kind': kind.name,
    'content_review.shard': shard,
  };
}
