import assert from 'node:assert/strict';
import { type Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { Health } from '../../../src/telemetry/health.ts';
import { startTelemetryServer, type TelemetryServer } from '../../../src/telemetry/http-server.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { PromMetrics } from '../../../src/telemetry/metrics.ts';

/** Returns the status of a request on a new connection, as kubelet sends it. */
function statusOfProbe(
  port: number,
  path: string,
  agent: Agent | false = false,
): Promise<number | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  request({ port, path, host: '127.0.0.1', agent, timeout: 5_000 }, (response) => {
    response.resume();
    resolve(response.statusCode);
  })
    .once('timeout', () => reject(new Error('no response')))
    .once('error', reject)
    .end();
  return promise;
}

describe('telemetry server', () => {
  const logger = createLogger({ level: 'silent' });
  let nowMs = 0;
  let health: Health;
  let metrics: PromMetrics;
  let server: TelemetryServer;

  beforeEach(async () => {
    nowMs = 0;
    health = new Health(() => nowMs);
    metrics = new PromMetrics({ version: '1', nodeMetrics: false });
    const parts = { metrics, health, logger, pages: async () => undefined };
    server = await startTelemetryServer({ host: '127.0.0.1', port: 0, ...parts });
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

  it('serves the metrics, including health, in the format of Prometheus', async () => {
    metrics.count('rebalances_total', { pipeline: 'p' });
    health.ready('kafka');
    const { status, type, body } = await get('/metrics');
    assert.equal(status, 200);
    assert.match(type ?? '', /^text\/plain; version=0\.0\.4/);
    assert.match(body, /content_review_rebalances_total\{pipeline="p"\} 1/);
    assert.match(body, /content_review_ready\{condition="kafka"\} 1/);
  });

  it('responds to /livez with 503 and the shard while a transaction is overdue, otherwise with 200', async () => {
    const ended = health.transaction('comments/shard-1', 1_000);
    assert.equal((await get('/livez')).status, 200);
    nowMs = 5_000;
    const stuck = await get('/livez');
    assert.equal(stuck.status, 503);
    assert.deepEqual(JSON.parse(stuck.body), {
      status: 'stuck',
      stuck: [{ shard: 'comments/shard-1', seconds: 5 }],
    });
    ended();
    assert.equal((await get('/livez')).status, 200);
  });

  it('refuses other paths and methods', async () => {
    const missing = await get('/');
    assert.equal(missing.status, 404);
    assert.deepEqual(JSON.parse(missing.body).paths, ['/', '/metrics', '/livez', '/readyz']);
    assert.equal((await get('/metrics', { method: 'POST', body: 'x' })).status, 405);
    assert.equal((await get('/livez', { method: 'HEAD' })).status, 200);
  });

  describe('Host', () => {
    const paths = ['/metrics', '/livez', '/readyz', '/', '/api/state'];
    const statusOf = (url: string, path: string, host: string) =>
      new Promise<number | undefined>((resolve, reject) => {
        request(url + path, { headers: { host } }, (response) => {
          response.resume();
          resolve(response.statusCode);
        })
          .once('error', reject)
          .end();
      });

    it('must be this machine on a loopback address at every path, so that no other site gets access', async () => {
      for (const host of ['localhost', 'LOCALHOST:9464', '127.0.0.1:1', '127.9.9.9', '[::1]:9464'])
        assert.notEqual(await statusOf(server.url, '/metrics', host), 403, host);
      const foreign = ['evil.example', 'evil.example:9464', 'localhost.evil.example', '10.0.0.1'];
      for (const host of [...foreign, '127.0.0.1.evil.example', 'localhost.', '[::2]', 'a b'])
        for (const path of paths) assert.equal(await statusOf(server.url, path, host), 403, host);
    });
  });

  describe('with hundreds of hostile connections', () => {
    const HOSTILE = 500;
    const ATTACKS: Readonly<Record<string, (socket: Socket) => void>> = {
      'that send nothing': () => {},
      'that do not read the responses': (socket) => {
        socket.pause();
        socket.write('GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(20));
      },
    };
    for (const [name, attack] of Object.entries(ATTACKS))
      it(`${name}, each probe gets its response`, { timeout: 60_000 }, async () => {
        const sockets: Socket[] = [];
        const dropped = Promise.withResolvers<void>();
        try {
          for (let n = 0; n < HOSTILE; n++) {
            const socket = connect(server.port, '127.0.0.1');
            sockets.push(socket);
            socket.on('error', () => {});
            socket.once('close', () => dropped.resolve());
            await new Promise<void>((resolve) => socket.once('connect', resolve));
            attack(socket);
            if (n % 25 === 0)
              for (const path of ['/livez', '/metrics'])
                assert.equal(await statusOfProbe(server.port, path), 200, `${path} after ${n}`);
          }
          for (const socket of sockets) socket.resume();
          await dropped.promise;
          assert.equal(await statusOfProbe(server.port, '/livez'), 200);
        } finally {
          for (const socket of sockets) socket.destroy();
        }
      });
  });

  it('closes at once, also repeatedly, even with idle connections and an incomplete request', {
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
});
