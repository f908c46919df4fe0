/** Both formats of /metrics, and the exemplars of one of them in a real Prometheus. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, test } from 'node:test';
import { Health } from '../../../src/telemetry/health.ts';
import { startTelemetryServer } from '../../../src/telemetry/http-server.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { PromMetrics } from '../../../src/telemetry/metrics.ts';
import { eventually } from '../../support/eventually.ts';
import { startPrometheus } from '../../support/prometheus/server.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const LABELS = { pipeline: 'p' };
const SPAN = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), flags: 1 };

const metrics = new PromMetrics({ version: '1' });
const server = await startTelemetryServer({
  host: '127.0.0.1',
  port: 0,
  metrics,
  health: new Health({ stuckAfterMs: 1_000 }),
  logger: createLogger({ level: 'silent' }),
});
after(() => server.close());
metrics.startPipeline('p');
metrics.observe('event_to_decision_seconds', LABELS, 7, 5, SPAN);
metrics.observe('event_to_decision_seconds', LABELS, 100_000, 1, SPAN);
metrics.observe('event_to_decision_seconds', LABELS, 40, 5);
metrics.observe('event_to_decision_seconds', LABELS, 0.5, 1, { ...SPAN, flags: 0 });

test('Prometheus stores the exemplars', async () => {
  const prometheus = await startPrometheus({
    directory: path.join(temporaryDirectory(), 'prometheus'),
    target: new URL(server.url).host,
    job: 'connector',
  });
  after(() => prometheus.stop());
  await eventually('the exemplars are stored', async () => {
    const found = await prometheus.exemplars('content_review_event_to_decision_seconds_bucket');
    const values = new Set(
      found
        .filter(({ labels }) => labels.trace_id === SPAN.traceId && labels.span_id === SPAN.spanId)
        .map(({ value }) => Number(value)),
    );
    return values.has(7) && values.has(100_000);
  });
  const late = await prometheus.query('content_review_decisions_late_total');
  assert.deepEqual(
    late.map(({ value }) => value),
    [0],
  );
});
