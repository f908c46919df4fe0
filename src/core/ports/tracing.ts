/** Traces of batches. `src/telemetry/tracing` implements them over OpenTelemetry. */
import type { TraceParent } from '../trace-context.ts';

/** Attributes; never content, keys or signed addresses (I6). */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

export interface SpanIds {
  /** 32 and 16 hexadecimal digits. */
  readonly traceId: string;
  readonly spanId: string;
}

export interface Span {
  /** undefined if the span is not recorded. */
  readonly ids: SpanIds | undefined;
  set(attributes: SpanAttributes): void;
  /** Adds an event at the present time. */
  event(name: string, attributes?: SpanAttributes): void;
  /** Starts a step, a part of the span with a duration. */
  step(name: string, attributes?: SpanAttributes): Span;
  /**
   * Ends the span; repeatable, only the first call counts. @param error class of the failure, from
   * a closed set
   */
  end(error?: string): void;
}

export interface Tracer {
  /** Starts the span of one batch: the root of its own trace, with links to others. */
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
