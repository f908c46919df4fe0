/** Both formats of /metrics, and the exemplars of one of them in a real Prometheus. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, test } from 'node:test';
import { startPrometheus } from '../../../dev/prometheus/server.ts';
import { Health } from '../../../src/telemetry/health/health.ts';
import { startTelemetryServer } from '../../../src/telemetry/health/http-server.ts';
import { createLogger } from '../../../src/telemetry/logging/logger.ts';
import { PromMetrics } from '../../../src/telemetry/metrics/metrics.ts';
import { eventually } from '../../support/eventually.ts';
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

async function scrape(accept: string): Promise<readonly [type: string, text: string]> {
  const response = await fetch(`${server.url}/metrics`, { headers: { accept } });
  assert.equal(response.headers.get('vary'), 'accept');
  return [response.headers.get('content-type') ?? '', await response.text()];
}

test('a scraper gets the format that it prefers, with the same series, in any order of requests', async () => {
  const open = 'application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3';
  const [before] = (await scrape('*/*')).slice(1);
  const [type, text] = await scrape(open);
  assert.equal(type, 'application/openmetrics-text; version=1.0.0; charset=utf-8');
  assert.match(text, /^# TYPE content_review_decisions counter$/m);
  assert.match(text, /^content_review_decisions_total\{pipeline="p",status="SUCCESS"\} 0$/m);
  assert.match(text, /^process_cpu_seconds_total /m);
  assert.ok(text.endsWith('\n# EOF\n') && !text.includes('\n\n'));
  const [plainType, plain] = await scrape('text/plain;q=0.9, application/openmetrics-text;q=0.1');
  assert.equal(plainType, 'text/plain; version=0.0.4; charset=utf-8');
  assert.match(plain, /^# TYPE content_review_decisions_total counter$/m);
  assert.doesNotMatch(plain, /trace_id|# EOF/);
  // Those of garbage collection appear with the first of its kind, which may be between two requests.
  const series = (of = '') => new Set(of.match(/^(?!nodejs_gc_)[a-z][^ ]* /gm));
  assert.deepEqual(series(text), series(plain));
  assert.deepEqual(series(plain), series(before));
});

test('a bucket names the newest sampled trace; buckets without one name none', async () => {
  const [, text] = await scrape('application/openmetrics-text');
  const exemplars = text.split('\n').filter((line) => line.includes(' # {'));
  assert.equal(exemplars.length, 2);
  const ids = `trace_id="${SPAN.traceId}",span_id="${SPAN.spanId}"`;
  assert.match(exemplars[0] ?? '', new RegExp(`le="15",.*\\} 6 # \\{${ids}\\} 7 [\\d.]+$`));
  assert.match(exemplars[1] ?? '', /le="\+Inf",.*\} 12 # \{.*\} 100000 [\d.]+$/);
});

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
