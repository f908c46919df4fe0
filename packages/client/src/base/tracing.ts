/** Traces of batches. `src/telemetry/tracing.ts` implements them with OpenTelemetry. */
import { AsyncLocalStorage } from 'node:async_hooks';

/** Span of another process. */
export interface TraceParent {
  /** Ids of 32 and 16 hexadecimal digits in lower case, not all 0. */
  readonly traceId: string;
  readonly spanId: string;
  /** One byte; 1 means sampled. */
  readonly flags: number;
}

/** Attributes of a span. They never contain content, keys or signed addresses (I6). */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** Kind of a step. `client` is a request to another process, `producer` a write to a topic. */
export type StepKind = 'internal' | 'client' | 'producer';

export interface Span {
  /** undefined if the span is not recorded. */
  readonly ids: TraceParent | undefined;
  set(attributes: SpanAttributes): void;
  /** Adds an event with the current time. */
  event(name: string, attributes?: SpanAttributes): void;
  /** Starts a step, which is a child span. */
  step(name: string, attributes?: SpanAttributes, kind?: StepKind): Span;
  /** Ends the span. Only the first call has an effect. @param error class of the failure, from a closed list */
  end(error?: string): void;
}

export interface Tracer {
  /** Starts the span of one batch. It is the root of its own trace, and has links to other traces. */
  startBatch(name: string, attributes: SpanAttributes, links: readonly TraceParent[]): Span;
  /** True if spans are recorded. */
  readonly enabled: boolean;
}

export const NO_SPAN: Span = {
  ids: undefined,
  set: () => undefined,
  event: () => undefined,
  step: () => NO_SPAN,
  end: () => undefined,
};

export const NO_TRACER: Tracer = { enabled: false, startBatch: () => NO_SPAN };

const current = new AsyncLocalStorage<Span>();

/** Returns the span of the enclosing `within`, or NO_SPAN if there is none or tracing is off. */
export const currentSpan = (): Span => current.getStore() ?? NO_SPAN;

/** Runs `run` with `span` as the current span, including everything that it awaits. */
export const within = <T>(span: Span, run: () => T): T =>
  span === NO_SPAN ? run() : current.run(span, run);

/** Returns the request header that continues the trace of a span. */
export function traceHeadersOf({ traceId, spanId, flags }: TraceParent) {
  return { traceparent: `00-${traceId}-${spanId}-${flags.toString(16).padStart(2, '0')}` };
}
