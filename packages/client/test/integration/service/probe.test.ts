/** Readiness of the service over real HTTP: each way in which it is not well, and back. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { toolService } from '../../../../../src/app/clients/service.ts';
import { requestUnknown, ServiceProbe } from '../../../../../src/app/service-probe.ts';
import { parseConfig } from '../../../../../src/config/load.ts';
import { Health } from '../../../../../src/telemetry/health/health.ts';
import { createLogger } from '../../../../../src/telemetry/logging/logger.ts';
import { eventually } from '../../../../../test/support/eventually.ts';
import { systemClock } from '../../../src/base/system-clock.ts';

const KEY = 'sk-probe-7Hq2Lm9Rt4Vx';
let answer: RequestListener = () => {};
const server: Server = createServer((request, response) => answer(request, response));
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const { port } = server.address() as AddressInfo;
after(() => {
  server.close();
  server.closeAllConnections();
});

const well: RequestListener = ({ headers }, response) => {
  const status = headers.authorization === `Bearer ${KEY}` ? 404 : 401;
  response.writeHead(status).end();
};
const PROBLEMS: Readonly<Record<string, readonly [string, RegExp, RequestListener]>> = {
  'another key': ['api_key', /answered 401/, (_, response) => response.writeHead(401).end(KEY)],
  'a redirect': [
    'service',
    /answered 302.*this one leads to http:\/\/127\.0\.0\.1:1\b.*redirects are not followed/,
    (_, response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
  ],
  'an error of its own': [
    'service',
    /answered 500/,
    (_, response) => response.writeHead(500).end(),
  ],
  'a web page': [
    'service',
    /the body is not JSON/,
    (_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
  ],
  'no answer': ['service', /did not answer in time/, () => {}],
  'a closed connection': ['service', /closed the connection/, ({ socket }) => socket.destroy()],
};

for (const kind of ['review', 'import', 'lookup'])
  test(`an idle process is not ready until the service answers and accepts the key: ${kind}`, async () => {
    const config = parseConfig(
      `
kafka: {brokers: "127.0.0.1:1"}
service: {baseUrl: "http://127.0.0.1:${port}/v1", apiKey: ${KEY}, timeouts: {headers: 200ms}}
pipelines: [{name: posts, source: {topic: events}}]
`,
      {},
      { file: 'f', directory: '.' },
    );
    const problems = Object.entries(PROBLEMS).slice(0, kind === 'review' ? undefined : 1);
    for (const [name, [condition, reason, failing]] of problems) {
      answer = failing;
      const client = toolService(config);
      const health = new Health({ stuckAfterMs: 60_000 });
      const probe = new ServiceProbe({
        probe: (signal) => requestUnknown(client, kind, signal),
        health,
        logger: createLogger({ level: 'silent' }),
        clock: systemClock,
      });
      try {
        probe.start();
        const shown = await eventually(`"${name}" is reported`, () =>
          health
            .readiness()
            .conditions.find((one) => one.name === condition && reason.test(one.reason ?? '')),
        );
        assert.ok(shown.reason?.includes(`127.0.0.1:${port}/v1`), name);
        assert.ok(!shown.reason?.includes(KEY), name);
        assert.equal(health.readiness().ok, false);

        answer = well;
        await eventually('it is ready', () => health.readiness().ok, { deadlineMs: 20_000 });
      } finally {
        probe.close();
        await client.close();
      }
    }
  });
