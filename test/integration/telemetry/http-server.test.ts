import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { Health } from '../../../src/telemetry/health/health.ts';
import {
  startTelemetryServer,
  type TelemetryServer,
} from '../../../src/telemetry/health/http-server.ts';
import { createLogger } from '../../../src/telemetry/logging/logger.ts';
import { PromMetrics } from '../../../src/telemetry/metrics/metrics.ts';

describe('telemetry server', () => {
  const logger = createLogger({ level: 'silent' });
  let nowMs = 0;
  let health: Health;
  let metrics: PromMetrics;
  let server: TelemetryServer;

  beforeEach(async () => {
    nowMs = 0;
    health = new Health({ stuckAfterMs: 1_000, now: () => nowMs });
    metrics = new PromMetrics({ version: '1', nodeMetrics: false });
    server = await startTelemetryServer({ host: '127.0.0.1', port: 0, metrics, health, logger });
  });
  afterEach(() => server.close());

  const get = async (path: string, init?: RequestInit) => {
    const response = await fetch(server.url + path, init);
    return {
      status: response.status,
      type: response.headers.get('content-type'),
      body: await response.text(),
    };
  };

  it('serves the metrics, health among them, in the format of Prometheus', async () => {
    metrics.count('rebalances_total', { pipeline: 'p' });
    health.ready('kafka');
    const { status, type, body } = await get('/metrics');
    assert.equal(status, 200);
    assert.match(type ?? '', /^text\/plain; version=0\.0\.4/);
    assert.match(body, /content_review_rebalances_total\{pipeline="p"\} 1/);
    assert.match(body, /content_review_ready\{condition="kafka"\} 1/);
  });

  it('answers /livez with 503 and the stuck loop, and 200 again when it moves', async () => {
    health.beat('intake');
    assert.equal((await get('/livez')).status, 200);
    nowMs = 5_000;
    const stuck = await get('/livez');
    assert.equal(stuck.status, 503);
    assert.deepEqual(JSON.parse(stuck.body), {
      status: 'stuck',
      loops: [{ name: 'intake', state: 'stuck', seconds: 5 }],
    });
    health.beat('intake');
    assert.equal((await get('/livez')).status, 200);
  });

  it('answers /readyz with 503 and the reason until every condition holds', async () => {
    assert.equal((await get('/readyz')).status, 503);
    health.notReady('service', 'the API key is refused (401)');
    const not = await get('/readyz?verbose');
    assert.equal(not.status, 503);
    assert.deepEqual(JSON.parse(not.body), {
      status: 'not ready',
      conditions: [{ name: 'service', ready: false, reason: 'the API key is refused (401)' }],
    });
    health.ready('service');
    assert.equal((await get('/readyz')).status, 200);
  });

  it('refuses other paths and methods', async () => {
    const missing = await get('/');
    assert.equal(missing.status, 404);
    assert.deepEqual(JSON.parse(missing.body).paths, ['/metrics', '/livez', '/readyz']);
    assert.equal((await get('/metrics', { method: 'POST', body: 'x' })).status, 405);
    assert.equal((await get('/livez', { method: 'HEAD' })).status, 200);
  });

  it('closes at once and twice, even with an idle and a half-open request on it', {
    timeout: 2_000,
  }, async () => {
    await get('/livez');
    const socket = connect(server.port, '127.0.0.1');
    await new Promise<void>((resolve) => socket.once('connect', resolve));
    socket.write('GET /metrics HTTP/1.1\r\nHost: x\r\n');
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    socket.on('error', () => {});
    await server.close();
    await server.close();
    await closed;
    await assert.rejects(fetch(`${server.url}/livez`));
  });

  it('names the setting to change when the port is in use', async () => {
    await assert.rejects(
      startTelemetryServer({ host: '127.0.0.1', port: server.port, metrics, health, logger }),
      /cannot listen on 127\.0\.0\.1:\d+ \(the port is in use\): change http\.host or http\.port/,
    );
  });
});
