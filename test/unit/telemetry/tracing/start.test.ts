/** Tracing of a process, with a collector that the test plays itself. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { startTracing } from '../../../../src/telemetry/tracing/index.ts';
import { RecordingLogger, RecordingMetrics } from '../../../support/memory/recording-telemetry.ts';

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

interface Request {
  readonly path: string | undefined;
  readonly type: string | undefined;
  readonly key: string | undefined;
  readonly body: Buffer;
}

async function collector(status = 200) {
  const requests: Request[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const raw = Buffer.concat(chunks);
    const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(raw) : raw;
    requests.push({ path: request.url, type: request.headers['content-type'], key: request.headers['x-key'] as string, body });
    response.writeHead(status).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { requests, url, close };
}

function telemetry() {
  return { logger: new RecordingLogger(), metrics: new RecordingMetrics(), version: '1.2.3' };
}

test('without any variable nothing is traced or said', async () => {
  const parts = telemetry();
  const { tracer, close } = await startTracing({}, parts);
  assert.equal(tracer.enabled, false);
  await close(0);
  assert.deepEqual(parts.logger.lines, []);
});

test('the SDK is loaded by one file, and that file only when traces are wanted: it takes memory and time', () => {
  const sources = globSync('src/**/*.ts', { cwd: ROOT }).map((file) => [file, readFileSync(`${ROOT}/${file}`, 'utf8')] as const);
  const matching = (pattern: RegExp) => sources.filter(([, text]) => pattern.test(text)).map(([file]) => file);
  const SDK = 'src/telemetry/tracing/sdk.ts';
  assert.deepEqual(matching(/^(?:import|export) (?!type )[^;]*'@opentelemetry\/(?!api')|import\('@opentelemetry/m), [SDK]);
  assert.deepEqual(matching(/(?:from|import) '[^']*\/sdk\.ts'/), []);
  assert.deepEqual(matching(/import\('\.\/sdk\.ts'\)/), ['src/telemetry/tracing/index.ts']);
});

test('spans arrive as JSON with resource, headers and gzip of the environment, and are sent at the end', async () => {
  const { requests, url, close: closeCollector } = await collector();
  try {
    const env = environment({
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
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
    assert.equal(requests.length, 0);
    await close(5_000);
    const [request] = requests;
    assert.deepEqual([request?.path, request?.type, request?.key], ['/v1/traces', 'application/json', 'of-the-collector']);
    const { resourceSpans } = JSON.parse(String(request?.body));
    const resource = new Map(
      (resourceSpans[0].resource.attributes as { key: string; value: { stringValue: string } }[]).map(({ key, value }) => [
        key,
        value.stringValue,
      ]),
    );
    assert.equal(resource.get('service.name'), 'content-review-connector');
    assert.equal(resource.get('service.version'), '1.2.3');
    assert.equal(resource.get('deployment.environment.name'), 'test');
    const { spans } = resourceSpans[0].scopeSpans[0] as { spans: { name: string; traceId: string }[] };
    assert.deepEqual(
      spans.map(({ name }) => name),
      ['upload', 'process events'],
    );
    assert.equal(spans[1]?.traceId, span.ids?.traceId);
    assert.equal(parts.metrics.counter('trace_spans_total', { outcome: 'exported' }), 2);
  } finally {
    await closeCollector();
  }
});

test('by default spans go as protobuf, under a name of your own', async () => {
  const { requests, url, close: closeCollector } = await collector();
  try {
    const env = environment({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${url}/traces`, OTEL_SERVICE_NAME: 'reviews-of-mine' });
    const { tracer, close } = await startTracing(env, telemetry());
    tracer.startBatch('process events', {}, []).end();
    await close(5_000);
    assert.deepEqual([requests[0]?.path, requests[0]?.type], ['/traces', 'application/x-protobuf']);
    assert.ok(requests[0]?.body.includes('reviews-of-mine'));
    assert.ok(requests[0]?.body.includes('process events'));
  } finally {
    await closeCollector();
  }
});

test('a collector that refuses is told of once, and what was lost is counted', async () => {
  const { url, close: closeCollector } = await collector(400);
  try {
    const env = environment({
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '1',
      OTEL_BSP_SCHEDULE_DELAY: '0',
    });
    const { logger, metrics, version } = telemetry();
    const { tracer, close } = await startTracing(env, { logger, metrics, version });
    for (let n = 0; n < 3; n++) tracer.startBatch('process events', {}, []).end();
    await close(5_000);
    const warnings = logger.lines.filter(({ level }) => level === 'warn').map(({ message }) => message);
    assert.deepEqual(warnings, ['traces do not arrive at the collector; the pipelines go on without']);
    assert.equal(metrics.counter('trace_spans_total', { outcome: 'failed' }), 3);
  } finally {
    await closeCollector();
  }
});

test('what cannot be used is said, and the pipelines go on without', async () => {
  const parts = telemetry();
  const { tracer } = await startTracing({ OTEL_TRACES_EXPORTER: 'console' }, parts);
  assert.equal(tracer.enabled, false);
  assert.match(parts.logger.text(), /warn tracing: OTEL_TRACES_EXPORTER may be otlp or none/);
});
