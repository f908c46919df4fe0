/** How the engine tells of its batches as traces. `src/telemetry/tracing` implements it over OpenTelemetry. */
import type { TraceParent } from '../trace-context.ts';

/** Never content, keys or signed addresses (I6). */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

export interface SpanIds {
  /** 32 and 16 hexadecimal digits. */
  readonly traceId: string;
  readonly spanId: string;
}

export interface Span {
  /** undefined when nobody records it: then there is nothing to point to. */
  readonly ids: SpanIds | undefined;
  set(attributes: SpanAttributes): void;
  /** Something that happened at one moment. */
  event(name: string, attributes?: SpanAttributes): void;
  /** A part of it that takes time. */
  step(name: string, attributes?: SpanAttributes): Span;
  /** Repeatable: only the first counts. @param error what kind of failure ended it, from a closed set; absent: none */
  end(error?: string): void;
}

export interface Tracer {
  /** The span of one batch: the root of a trace of its own, that points to others. */
  startBatch(name: string, attributes: SpanAttributes, links: readonly TraceParent[]): Span;
  /** Whether anything is recorded: when not, nobody need look for links. */
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
