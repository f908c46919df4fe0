/** Tracing of a process, with a collector that the test plays itself. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { afterEach, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { trace } from '@opentelemetry/api';
import {
  InMemorySpanExporter,
  SimpleSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { startTracing } from '../../../../src/telemetry/tracing/index.ts';
import { eventually } from '../../../support/eventually.ts';
import {
  RecordingLogger,
  RecordingMetrics,
} from '../../../support/memory/telemetry/recording-telemetry.ts';
import { Collector } from '../../../support/stack/collector.ts';

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));

const set = new Set<string>();
function environment(env: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  for (const [name, value] of Object.entries(env)) {
    process.env[name] = value;
    set.add(name);
  }
  return process.env;
}
afterEach(() => {
  for (const name of set) delete process.env[name];
});

function telemetry() {
  return { logger: new RecordingLogger(), metrics: new RecordingMetrics(), version: '1.2.3' };
}

test('without variables nothing is traced or logged', async () => {
  const parts = telemetry();
  const { tracer, close } = await startTracing({}, parts);
  assert.equal(tracer.enabled, false);
  await close(0);
  assert.deepEqual(parts.logger.lines, []);
});

test('the SDK is loaded by one file, and only when tracing is on: it takes memory and time', () => {
  const sources = globSync('src/**/*.ts', { cwd: ROOT }).map(
    (file) => [file, readFileSync(`${ROOT}/${file}`, 'utf8')] as const,
  );
  const matching = (pattern: RegExp) =>
    sources.filter(([, text]) => pattern.test(text)).map(([file]) => file);
  const SDK = 'src/telemetry/tracing/sdk.ts';
  assert.deepEqual(
    matching(/^(?:import|export) (?!type )[^;]*'@opentelemetry\/(?!api')|import\('@opentelemetry/m),
    [SDK],
  );
  assert.deepEqual(matching(/(?:from|import) '[^']*\/sdk\.ts'/), []);
  assert.deepEqual(matching(/import\('\.\/sdk\.ts'\)/), ['src/telemetry/tracing/index.ts']);
});

test('spans arrive as JSON with resource, headers and gzip of the environment, and are sent at the end', async () => {
  await using collector = await new Collector().start();
  const env = environment({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_EXPORTER_OTLP_HEADERS: 'x-key=of-the-collector',
    OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
  });
  const parts = telemetry();
  const { tracer, close } = await startTracing(env, parts);
  const span = tracer.startBatch('process events', { rows: 1 }, []);
  span.step('upload').end();
  span.end();
  assert.equal(collector.requests.length, 0);
  await close(5_000);
  const [request] = collector.requests;
  assert.equal(request?.path, '/v1/traces');
  assert.equal(request.headers['content-type'], 'application/json');
  assert.equal(request.headers['content-encoding'], 'gzip');
  assert.equal(request.headers['x-key'], 'of-the-collector');
  const [resource] = collector.resources;
  assert.equal(resource?.['service.name'], 'content-review-connector');
  assert.equal(resource['service.version'], '1.2.3');
  assert.equal(resource['deployment.environment.name'], 'test');
  assert.equal(resource['process.command_args'], undefined);
  assert.deepEqual(
    collector.spans.map(({ name }) => name),
    ['upload', 'process events'],
  );
  assert.equal(collector.spans[1]?.traceId, span.ids?.traceId);
  assert.equal(parts.metrics.counter('trace_spans_total', { outcome: 'exported' }), 2);
});

test('by default spans go as protobuf, under a name of your own', async () => {
  await using collector = await new Collector().start();
  const { url, requests } = collector;
  const env = environment({
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${url}/traces`,
    OTEL_SERVICE_NAME: 'reviews-of-mine',
  });
  const { tracer, close } = await startTracing(env, telemetry());
  tracer.startBatch('process events', {}, []).end();
  await close(5_000);
  assert.deepEqual(
    [requests[0]?.path, requests[0]?.headers['content-type']],
    ['/traces', 'application/x-protobuf'],
  );
  assert.ok(requests[0]?.body.includes('reviews-of-mine'));
  assert.ok(requests[0]?.body.includes('process events'));
});

test('a refusing collector is logged once, and lost spans are counted', async () => {
  await using collector = await new Collector().start();
  collector.status = 400;
  const env = environment({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '1',
  });
  const { logger, metrics, version } = telemetry();
  const { tracer, close } = await startTracing(env, { logger, metrics, version });
  for (let n = 0; n < 3; n++) tracer.startBatch('process events', {}, []).end();
  await close(5_000);
  const warnings = logger.lines
    .filter(({ level }) => level === 'warn')
    .map(({ message }) => message);
  assert.deepEqual(warnings, ['trace export failed; the pipelines continue without it']);
  assert.equal(metrics.counter('trace_spans_total', { outcome: 'failed' }), 3);
});

test('spans that a collector does not accept in time at the end are lost, logged and counted once', async () => {
  await using collector = await new Collector().start();
  collector.status = undefined;
  const env = environment({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_TIMEOUT: '300',
  });
  const { logger, metrics, version } = telemetry();
  const { tracer, close } = await startTracing(env, { logger, metrics, version });
  tracer.startBatch('process events', {}, []).end();
  await close(50);
  assert.match(logger.text(), /warn the last traces could not be sent in time \{"spans":1\}/);
  // Until the request itself has given up.
  await eventually(
    'the request is over',
    () => collector.requests.length > 0 && collector.pending === 0,
  );
  assert.equal(metrics.counter('trace_spans_total'), 1);
});

test('a provider that was registered before is used, and no other is started', async () => {
  const exporter = new InMemorySpanExporter();
  trace.setGlobalTracerProvider(
    new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }),
  );
  try {
    const parts = telemetry();
    const { tracer, close } = await startTracing({ OTEL_TRACES_EXPORTER: 'otlp' }, parts);
    tracer.startBatch('process events', {}, []).end();
    await close(0);
    assert.deepEqual(
      exporter.getFinishedSpans().map(({ name }) => name),
      ['process events'],
    );
    assert.match(parts.logger.text(), /registered in this process/);
    assert.doesNotMatch(parts.logger.text(), /tracing started/);
  } finally {
    trace.disable();
  }
});

test('unusable settings are logged, and the pipelines continue without tracing', async () => {
  const parts = telemetry();
  const { tracer } = await startTracing({ OTEL_TRACES_EXPORTER: 'console' }, parts);
  assert.equal(tracer.enabled, false);
  assert.match(parts.logger.text(), /warn tracing: OTEL_TRACES_EXPORTER may be otlp or none/);
});
