/** Response body of /metrics, which concurrent scrapers share. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Health } from '../../../src/telemetry/health.ts';
import { metricsPage } from '../../../src/telemetry/http-server.ts';
import { PromMetrics } from '../../../src/telemetry/metrics.ts';

function page() {
  const metrics = new PromMetrics({ version: '1', nodeMetrics: false });
  const times = { nowMs: 0, costMs: 2, rendered: 0 };
  const render = metrics.render.bind(metrics);
  metrics.render = async () => {
    times.rendered++;
    const text = await render();
    times.nowMs += times.costMs;
    return text;
  };
  const made = metricsPage(metrics, new Health(), () => times.nowMs);
  return { made, metrics, times };
}

test('concurrent scrapers share one response body, and rendering takes at most a twentieth of the time', async () => {
  const { made, times } = page();
  const texts = await Promise.all(Array.from({ length: 120 }, () => made()));
  assert.equal(times.rendered, 1);
  assert.equal(new Set(texts).size, 1);
  times.nowMs = 39;
  await made();
  assert.equal(times.rendered, 1);
  times.nowMs = 40;
  await made();
  assert.equal(times.rendered, 2);
});

test('no response body is older than a second, however long rendering takes', async () => {
  const { made, metrics, times } = page();
  times.costMs = 400;
  await made();
  metrics.count('log_lines_dropped_total', {}, 7);
  times.nowMs = 999;
  assert.doesNotMatch(await made(), /log_lines_dropped_total 7/);
  times.nowMs = 1_000;
  assert.match(await made(), /log_lines_dropped_total 7/);
});

test('a failed rendering is repeated for the next scraper', async () => {
  const { made, metrics } = page();
  const { render } = metrics;
  metrics.render = async () => assert.fail('broken');
  await assert.rejects(made(), /broken/);
  metrics.render = render;
  await made();
});
