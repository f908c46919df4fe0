/**
 * Implementation of the tracer port with OpenTelemetry's API. Users provide the SDK, and `node
 * --import` registers it before the connector starts (docs/tracing.md).
 */
import {
  type Tracer as ApiTracer,
  type Context,
  type Link,
  type Span as OtelApiSpan,
  ProxyTracerProvider,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { settledWithin } from '../../packages/client/src/base/abortable.ts';
import {
  NO_SPAN,
  NO_TRACER,
  type Span,
  type SpanAttributes,
  type StepKind,
  type TraceParent,
  type Tracer,
} from '../../packages/client/src/base/tracing.ts';
import { redactText } from './log-redaction.ts';

const SCOPE = 'content-review-connector';

const KINDS: Readonly<Record<StepKind, SpanKind>> = {
  internal: SpanKind.INTERNAL,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
};

/** Returns a tracer of the SDK that is registered in this process, or NO_TRACER if there is none. */
export function registeredTracer(version: string): Tracer {
  const provider = trace.getTracerProvider();
  const tracer =
    provider instanceof ProxyTracerProvider
      ? provider.getDelegateTracer(SCOPE, version)
      : provider.getTracer(SCOPE, version);
  return tracer === undefined ? NO_TRACER : new OtelTracer(tracer);
}

/** Sends the spans that the SDK has not sent yet. Never rejects. @param withinMs time in ms after which they are lost */
export async function flushSpans(withinMs: number): Promise<void> {
  const provider = trace.getTracerProvider();
  const registered: object =
    provider instanceof ProxyTracerProvider ? provider.getDelegate() : provider;
  // OpenTelemetry's API does not declare `forceFlush`, but its specification requires it of every SDK.
  if ('forceFlush' in registered && typeof registered.forceFlush === 'function')
    await settledWithin(registered.forceFlush(), withinMs);
}

export class OtelTracer implements Tracer {
  readonly enabled = true;
  readonly #tracer: ApiTracer;

  constructor(tracer: ApiTracer) {
    this.#tracer = tracer;
  }

  startBatch(name: string, attributes: SpanAttributes, links: readonly TraceParent[]): Span {
    const options = {
      kind: SpanKind.CONSUMER,
      attributes: redacted(attributes),
      links: links.map(linkOf),
    };
    const span = this.#tracer.startSpan(name, options, ROOT_CONTEXT);
    // If the span is not sampled, its steps would not be sampled either.
    return span.isRecording() ? new OtelSpan(this.#tracer, span) : NO_SPAN;
  }
}

class OtelSpan implements Span {
  readonly ids: TraceParent;
  readonly #tracer: ApiTracer;
  readonly #span: OtelApiSpan;
  readonly #context: Context;
  #ended = false;

  constructor(tracer: ApiTracer, span: OtelApiSpan) {
    const { traceId, spanId, traceFlags: flags } = span.spanContext();
    this.ids = { traceId, spanId, flags };
    this.#tracer = tracer;
    this.#span = span;
    this.#context = trace.setSpan(ROOT_CONTEXT, span);
  }

  set(attributes: SpanAttributes): void {
    if (!this.#ended) this.#span.setAttributes(redacted(attributes));
  }

  event(name: string, attributes: SpanAttributes = {}): void {
    if (!this.#ended) this.#span.addEvent(name, redacted(attributes));
  }

  step(name: string, attributes: SpanAttributes = {}, kind: StepKind = 'internal'): Span {
    const options = { kind: KINDS[kind], attributes: redacted(attributes) };
    return new OtelSpan(this.#tracer, this.#tracer.startSpan(name, options, this.#context));
  }

  end(error?: string): void {
    if (this.#ended) return;
    if (error !== undefined) {
      this.#span.setAttribute('error.type', redactText(error));
      this.#span.setStatus({ code: SpanStatusCode.ERROR });
    }
    this.#ended = true;
    this.#span.end();
  }
}

/** Redacts attributes like log lines, as the last line of defence (I6). */
function redacted(attributes: SpanAttributes): Record<string, string | number | boolean> {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [
      name,
      typeof value === 'string' ? redactText(value) : value,
    ]),
  );
}

function linkOf({ traceId, spanId, flags }: TraceParent): Link {
  return { context: { traceId, spanId, traceFlags: flags, isRemote: true } };
}
