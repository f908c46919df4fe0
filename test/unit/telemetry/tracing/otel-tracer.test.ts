/** The port over the real SDK. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import {
  AlwaysOffSampler,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { NO_SPAN } from '../../../../packages/client/src/base/tracing.ts';
import { traceParentOf } from '../../../../src/core/trace-context.ts';
import { OtelTracer } from '../../../../src/telemetry/tracing/otel-tracer.ts';
import { headerList } from '../../../support/records/headers.ts';
import { assertSilent, CANARY } from '../../../support/stack/canary.ts';

function traced() {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
  return { exporter, tracer: new OtelTracer(provider.getTracer('test')) };
}

const PARENT = traceParentOf(
  headerList({ traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' }),
);
assert.ok(PARENT !== undefined);

test('a batch is the root of a trace of its own with links; its steps are its children, its ids those of log lines', () => {
  const { exporter, tracer } = traced();
  const span = tracer.startBatch('process events', { rows: 3 }, [PARENT]);
  const step = span.step('upload', { bytes: 10 });
  step.end();
  span.event('journaled', { at: 1 });
  span.set({ outcome: 'settled' });
  span.end();
  const [upload, batch] = exporter.getFinishedSpans();
  assert.ok(upload !== undefined && batch !== undefined);
  assert.deepEqual(
    [upload.name, upload.kind, upload.attributes],
    ['upload', SpanKind.INTERNAL, { bytes: 10 }],
  );
  assert.deepEqual(
    [batch.name, batch.kind, batch.attributes],
    ['process events', SpanKind.CONSUMER, { rows: 3, outcome: 'settled' }],
  );
  assert.equal(batch.parentSpanContext, undefined);
  assert.equal(upload.parentSpanContext?.spanId, batch.spanContext().spanId);
  assert.deepEqual(span.ids, {
    traceId: batch.spanContext().traceId,
    spanId: batch.spanContext().spanId,
    flags: 1,
  });
  assert.deepEqual(step.ids?.traceId, span.ids?.traceId);
  const [link] = batch.links;
  assert.equal(link?.context.traceId, '0af7651916cd43dd8448eb211c80319c');
  assert.equal(link?.context.spanId, 'b7ad6b7169203331');
  assert.deepEqual(
    batch.events.map(({ name }) => name),
    ['journaled'],
  );
  assert.equal(batch.status.code, SpanStatusCode.UNSET);
});

test('only the first end counts, and later calls are ignored', () => {
  const { exporter, tracer } = traced();
  const span = tracer.startBatch('process events', {}, []);
  span.end('batch_failed');
  span.set({ late: true });
  span.event('late');
  span.end();
  const [batch, ...more] = exporter.getFinishedSpans();
  assert.equal(more.length, 0);
  assert.deepEqual(batch?.attributes, { 'error.type': 'batch_failed' });
  assert.deepEqual(batch?.status, { code: SpanStatusCode.ERROR });
  assert.deepEqual(batch?.events, []);
});

test('a batch that is not sampled has no span: neither its steps nor log lines name it', () => {
  const provider = new TracerProvider({ sampler: new AlwaysOffSampler() });
  assert.equal(
    new OtelTracer(provider.getTracer('test')).startBatch('process events', {}, []),
    NO_SPAN,
  );
});

test('an address that got into an attribute loses its query', () => {
  const { exporter, tracer } = traced();
  const url = `https://storage.example/up?X-Amz-Signature=${CANARY.signature}`;
  const span = tracer.startBatch('process events', { url }, []);
  span.set({ again: url });
  span.event('seen', { url });
  span.step('upload', { url }).end(`failed at ${url}`);
  span.end();
  for (const { attributes, events, status } of exporter.getFinishedSpans()) {
    assertSilent(JSON.stringify([attributes, events, status]), 'a span');
  }
});
