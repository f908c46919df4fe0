/** Push of the metrics with the real exporter, to a test collector that also misbehaves. */
import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import { registerHooks } from 'node:module';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { Health } from '../../../src/telemetry/health.ts';
import { PromMetrics } from '../../../src/telemetry/metrics.ts';
import { startMetricsPush } from '../../../src/telemetry/metrics-push.ts';
import { eventually } from '../../support/eventually.ts';
import { RecordingLogger } from '../../support/memory/telemetry/recording-telemetry.ts';
import { assertSilent, CANARY } from '../../support/stack/canary.ts';

const accept: RequestListener = (_, response) => response.end();
let respond = accept;
let requests = 0;
const server = createServer((request, response) => {
  requests++;
  respond(request.resume(), response);
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
after(() => server.close().closeAllConnections());
// By default, the exporter retries for 10 s.
process.env.OTEL_EXPORTER_OTLP_TIMEOUT = '1000';
process.env.OTEL_EXPORTER_OTLP_HEADERS = `api-key=${CANARY.key}`;

async function started() {
  const metrics = new PromMetrics({ version: '1', nodeMetrics: false });
  const logger = new RecordingLogger();
  const push = await startMetricsPush(
    `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/metrics`,
    'host:1',
    0,
    { metrics, health: new Health(), logger },
  );
  const log = () => logger.lines.map(({ message, fields }) => [message, fields.reason]).slice(1);
  return { push, logger, log };
}

// This test is the first, because loaded packages stay loaded.
test('a missing package is reported with the command that installs it', async () => {
  const hooks = registerHooks({
    resolve: (specifier, context, next) =>
      next(specifier.replace('@opentelemetry/exporter', 'missing-exporter'), context),
  });
  await assert.rejects(started(), {
    message: /metrics\.otlp requires .*: npm install @opentelemetry\/exporter-metrics-otlp-proto /,
  });
  hooks.deregister();
});

for (const [what, hostile, reason] of [
  ['repeats the key', (_, response) => response.writeHead(401, CANARY.key).end(), /^HTTP 401$/],
  ['is overloaded', (_, response) => response.writeHead(503).end(), /^Export failed/],
  ['does not speak HTTP', ({ socket }) => void socket.end('220 ready\r\n'), /^HPE_INVALID/],
  ['sends too much', (_, response) => response.end(Buffer.alloc(5e6)), /exceeded size limit/],
] satisfies [string, RequestListener, RegExp][])
  test(`a collector that ${what} is logged once per outage`, async () => {
    respond = hostile;
    const { push, logger, log } = await started();
    await push.close(60_000);
    respond = accept;
    await push.close(60_000);
    const [[failed, why] = [], ...more] = log();
    assert.equal(failed, 'metrics push failed');
    assert.match(String(why), reason);
    assert.deepEqual(more, [['metrics push recovered', undefined]]);
    assertSilent(logger.text(), 'the log');
  });

test('a response that never ends fails the next pushes without another connection, and delays the shutdown only for the allowed time', async () => {
  const asked = Promise.withResolvers<void>();
  respond = (_, response) => asked.resolve(void response.write('.'));
  const hanging = await started();
  await asked.promise;
  await hanging.push.close(1);
  assert.deepEqual(hanging.log(), [['metrics push failed', 'no response before the shutdown']]);
  requests = 0;
  process.env.OTEL_METRIC_EXPORT_INTERVAL = '100';
  const { push, log } = await started();
  await eventually('a push has failed', () => log().length > 0);
  await push.close(1);
  assert.equal(requests, 1);
  assert.deepEqual(log(), [['metrics push failed', 'no response within 100 ms']]);
});
