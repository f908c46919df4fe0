/** The tracing port with the real SDK. */
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { SpanStatusCode, trace } from '@opentelemetry/api';
import {
  AlwaysOffSampler,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { NO_SPAN, NO_TRACER } from '../../../packages/client/src/base/tracing.ts';
import { traceParentOf } from '../../../src/core/trace-context.ts';
import { flushSpans, OtelTracer, registeredTracer } from '../../../src/telemetry/tracing.ts';
import { headerList } from '../../support/records/headers.ts';
import { assertSilent, CANARY } from '../../support/stack/canary.ts';

afterEach(() => trace.disable());

function traced() {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
  return { exporter, tracer: new OtelTracer(provider.getTracer('test')) };
}

const PARENT = traceParentOf(
  headerList({ traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' }),
);
assert.ok(PARENT !== undefined);

test('calls after the first end of a span are ignored', () => {
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

test('a batch that is not sampled has no span', () => {
  const provider = new TracerProvider({ sampler: new AlwaysOffSampler() });
  assert.equal(
    new OtelTracer(provider.getTracer('test')).startBatch('process events', {}, []),
    NO_SPAN,
  );
});

test('the query of an address in an attribute is removed', () => {
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

test('without a registered SDK nothing is traced or sent', async () => {
  assert.equal(registeredTracer('1.2.3'), NO_TRACER);
  await flushSpans(0);
});

test('an unresponsive collector delays the end of the process only for the allowed time', async () => {
  const provider = new TracerProvider();
  provider.forceFlush = () => new Promise(() => undefined);
  trace.setGlobalTracerProvider(provider);
  await flushSpans(1);
});
