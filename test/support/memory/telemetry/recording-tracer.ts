/** Tracer that records its spans for assertions. */
import type {
  Span,
  SpanAttributes,
  StepKind,
  TraceParent,
  Tracer,
} from '../../../../packages/client/src/base/tracing.ts';

export class RecordedSpan implements Span {
  readonly name: string;
  readonly kind: StepKind | undefined;
  readonly ids: TraceParent;
  readonly parent: RecordedSpan | undefined;
  readonly links: readonly TraceParent[];
  readonly attributes: Record<string, string | number | boolean>;
  readonly events: { readonly name: string; readonly attributes: SpanAttributes }[] = [];
  readonly steps: RecordedSpan[] = [];
  /** `ok` or the error; undefined while the span is open. */
  ended: string | undefined;

  constructor(
    name: string,
    number: number,
    attributes: SpanAttributes,
    more: { links?: readonly TraceParent[]; parent?: RecordedSpan; kind?: StepKind } = {},
  ) {
    this.name = name;
    this.parent = more.parent;
    this.links = more.links ?? [];
    const traceId = more.parent?.ids.traceId ?? number.toString(16).padStart(32, 'a');
    this.ids = { traceId, spanId: number.toString(16).padStart(16, 'b'), flags: 1 };
    this.kind = more.kind;
    this.attributes = { ...attributes };
  }

  set(attributes: SpanAttributes): void {
    if (this.ended === undefined) Object.assign(this.attributes, attributes);
  }

  event(name: string, attributes: SpanAttributes = {}): void {
    if (this.ended === undefined) this.events.push({ name, attributes });
  }

  step(name: string, attributes: SpanAttributes = {}, kind: StepKind = 'internal'): RecordedSpan {
    const number =
      1000 * Number.parseInt(this.ids.spanId.replaceAll('b', '') || '0', 16) +
      this.steps.length +
      1;
    const step = new RecordedSpan(name, number, attributes, { parent: this, kind });
    this.steps.push(step);
    return step;
  }

  end(error?: string): void {
    this.ended ??= error ?? 'ok';
  }
}

export class RecordingTracer implements Tracer {
  readonly enabled = true;
  /** Spans of batches, in order of their start. */
  readonly batches: RecordedSpan[] = [];

  startBatch(
    name: string,
    attributes: SpanAttributes,
    links: readonly TraceParent[],
  ): RecordedSpan {
    const span = new RecordedSpan(name, this.batches.length + 1, attributes, { links });
    this.batches.push(span);
    return span;
  }

  /** Everything recorded, as text. */
  text(): string {
    const lines = (span: RecordedSpan): string[] => [
      JSON.stringify([span.name, span.attributes, span.events, span.links, span.ended]),
      ...span.steps.flatMap(lines),
    ];
    return this.batches.flatMap(lines).join('\n');
  }
}
