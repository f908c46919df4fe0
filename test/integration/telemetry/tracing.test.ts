/** Traces, trace headers, pushed metrics and log lines of the real process, with a real broker, the sandbox and a test collector. */
import assert from 'node:assert/strict';
import { hostname } from 'node:os';
import { after, test } from 'node:test';
import { SpanKind } from '@opentelemetry/api';
import type { BatchSummary } from '../../../packages/sandbox/src/control-routes.ts';
import { testKafka } from '../../support/kafka/kafka.ts';
import { headerList, headerOf } from '../../support/records/headers.ts';
import { assertSilent, CANARY } from '../../support/stack/canary.ts';
import { createStack, startSandboxProcess } from '../../support/stack/stack.ts';
import { TerminalRecords } from '../../support/stack/terminal-records.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { type CollectedSpan, Collector } from './collector.ts';

const PATIENCE_MS = 60_000;
/** Module that registers OpenTelemetry's SDK as in docs/tracing.md. */
const REGISTER = new URL('register.ts', import.meta.url).href;
const TRACE = '0af7651916cd43dd8448eb211c80319c';
const spanId = (n: number) => (n + 1).toString(16).padStart(16, '0');

const kafka = await testKafka();
const directory = temporaryDirectory();
const sandbox = await startSandboxProcess(directory, {});
after(() => sandbox.sandbox.stop(0));

const setup = {
  partitions: 1,
  pipeline: {
    batch: { maxRows: 10, maxAge: '300ms' },
    review: { poll: '300ms' },
    output: { headers: ['traceparent', 'tracestate'] },
  },
  config: { log: { level: 'debug' }, shutdown: { timeout: '20s' } },
};
const event = (n: number) => ({
  key: `k${n}`,
  value: JSON.stringify({ type: 'post', content: `${CANARY.content} ${n}` }),
  headers: headerList({ traceparent: `00-${TRACE}-${spanId(n)}-01`, tracestate: 'vendor=1' }),
});

/** Returns the names of the spans from the batch down to this span, without topics. */
function pathOf({ parentSpanId, name }: CollectedSpan, spans: readonly CollectedSpan[]): string {
  const own = name.replace(/^(process|send) .*/, '$1');
  const parent = spans.find(({ spanId }) => spanId === parentSpanId);
  return parent === undefined ? own : `${pathOf(parent, spans)}/${own}`;
}

/** Returns the required attributes of OpenTelemetry's conventions for messaging and HTTP clients. */
function spanTable({ topics }: { readonly topics: { source: string; decisions: string } }) {
  const { hostname, port } = new URL(sandbox.url);
  const server = { 'server.address': hostname, 'server.port': Number(port) };
  const request = (method: string) => ({
    ...server,
    'http.request.method': method,
    'http.response.status_code': 200,
  });
  const messaging = (operation: string, topic: string) => ({
    'messaging.system': 'kafka',
    'messaging.operation.type': operation,
    'messaging.operation.name': operation,
    'messaging.destination.name': topic,
    'messaging.batch.message_count': 10,
  });
  const table: Record<string, [SpanKind, object]> = {
    process: [SpanKind.CONSUMER, messaging('process', topics.source)],
    'process/create': [SpanKind.INTERNAL, {}],
    'process/create/POST /v1/batches': [
      SpanKind.CLIENT,
      {
        ...request('POST'),
        'url.full': `${sandbox.url}/v1/batches`,
        'url.template': '/v1/batches',
      },
    ],
    'process/upload': [SpanKind.INTERNAL, {}],
    'process/upload/PUT': [SpanKind.CLIENT, request('PUT')],
    'process/download': [SpanKind.INTERNAL, {}],
    'process/download/GET': [SpanKind.CLIENT, request('GET')],
    'process/send': [SpanKind.PRODUCER, messaging('send', topics.decisions)],
  };
  return table;
}

test('each decision has the trace headers of its event; spans and the last metrics arrive before the process ends', async () => {
  await using collector = await new Collector().start();
  const config = { ...setup.config, metrics: { otlp: `${collector.url}/v1/metrics` } };
  const stack = await createStack(kafka, directory, sandbox, { ...setup, config });
  const refused = await stack.startReplica({ OTEL_METRIC_EXPORT_INTERVAL: '1m' });
  const { error } = await refused.logged('startup refused');
  assert.match(String(error), /^OTEL_METRIC_EXPORT_INTERVAL: set a whole number/);
  assert.equal((await refused.process.exited).code, 4);
  const replica = await stack.startReplica({
    NODE_OPTIONS: `--import=${REGISTER}`,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    // Delays the export, so that no span is sent before the end of the process.
    OTEL_BSP_SCHEDULE_DELAY: '600000',
  });
  after(() => replica.process.stop(0));
  await replica.logged('running');
  const poison = { ...event(10), value: 'not JSON' };
  const source = await kafka.write(stack.topics.source, [
    ...Array.from({ length: 10 }, (_, n) => event(n)),
    poison,
  ]);
  const terminal = new TerminalRecords(kafka, stack);
  await terminal.untilCount(source.length, PATIENCE_MS);
  terminal.assertOnceEach(source);
  for (const { of, record } of terminal.all) {
    const n = Number(of.split(':')[1]);
    assert.equal(headerOf(record, 'traceparent'), `00-${TRACE}-${spanId(n)}-01`);
    assert.equal(headerOf(record, 'tracestate'), 'vendor=1');
  }
  const settled = await replica.logged('batch settled');
  assert.deepEqual(collector.bodies, []);
  replica.process.kill('SIGTERM');
  assert.equal((await replica.process.exited).code, 0);
  for (const body of [...collector.bodies, ...collector.metrics])
    assertSilent(String(body), 'a request to the collector');
  assert.ok(collector.metrics.length > 1, 'pushes at the start and at the end');
  const { port } = new URL(await replica.url());
  const attributes = [
    `${hostname()}:${port}`,
    'content-review-connector',
    'deployment.environment.name',
  ];
  for (const text of [
    ...attributes,
    'content_review_decisions_total',
    'content_review_transactions_stuck',
  ])
    assert.ok(collector.metrics.at(-1)?.includes(text), text);
  const batch = collector.spans.find(({ spanId: id }) => id === settled.span_id);
  assert.ok(batch !== undefined, 'the span in the log line exists');
  assert.equal(batch.name, `process ${stack.topics.source}`);
  assert.equal(batch.traceId, settled.trace_id);
  assert.equal(batch.attributes['content_review.batch'], settled.batch);
  assert.equal(batch.attributes['content_review.outcome'], 'settled');
  assert.deepEqual(
    batch.links.map((link) => [link.traceId, link.spanId]),
    Array.from({ length: 10 }, (_, n) => [TRACE, spanId(n)]),
  );
  const spans = new Map(collector.spans.map((span) => [pathOf(span, collector.spans), span]));
  assert.deepEqual([...spans.keys()].sort(), Object.keys(spanTable(stack)).sort());
  for (const [path, [kind, attributes]] of Object.entries(spanTable(stack))) {
    const span = spans.get(path);
    // Kinds in OTLP start with 1.
    assert.deepEqual([path, span?.kind], [path, kind + 1]);
    assert.deepEqual({ ...span?.attributes, ...attributes }, span?.attributes, path);
  }
  const call = spans.get('process/create/POST /v1/batches');
  const { batches } = (await (await fetch(`${sandbox.url}/sandbox/batches`)).json()) as {
    batches: BatchSummary[];
  };
  const created = batches.find(({ batch_id }) => batch_id === settled.batch);
  assert.equal(created?.traceparent, `00-${batch.traceId}-${call?.spanId}-01`);
});
