/** HTTP server with scripted responses of a schema registry. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemClock } from '../../../packages/client/src/base/clock.ts';
import type { RegistryObserver, RegistrySettings } from '../../../src/events/registry/index.ts';
import { directHttp } from '../direct-http.ts';

export interface FakeRegistry extends AsyncDisposable {
  readonly url: string;
  /** `METHOD path` of each request, in order. */
  readonly requests: string[];
  readonly headers: IncomingMessage['headers'][];
  /** JSON by path without its query. Other paths get 404 with the code for unknown schemas. */
  readonly answers: Record<string, unknown>;
  /** Replaces all responses if set. */
  instead: ((request: IncomingMessage, response: ServerResponse) => void) | undefined;
}

export async function fakeRegistry(answers: Record<string, unknown> = {}): Promise<FakeRegistry> {
  const server = createServer((request, response) => {
    fake.requests.push(`${request.method} ${request.url}`);
    fake.headers.push(request.headers);
    if (fake.instead !== undefined) fake.instead(request, response);
    else answer(response, fake.answers[(request.url ?? '').replace(/\?.*/, '')]);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const fake: FakeRegistry = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: [],
    headers: [],
    answers: { ...answers },
    instead: undefined,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return fake;
}

function answer(response: ServerResponse, found: unknown): void {
  response.statusCode = found === undefined ? 404 : 200;
  response.setHeader('content-type', 'application/vnd.schemaregistry.v1+json');
  response.end(JSON.stringify(found ?? { error_code: 40403, message: 'Schema not found' }));
}

/** Registry settings for tests: a short timeout, and waits of at most 20 ms. */
export function registrySettings(
  urls: readonly string[],
  more: Partial<RegistrySettings> = {},
): RegistrySettings {
  return {
    urls,
    credentials: { kind: 'none' },
    open: () => directHttp(more.timeoutMs),
    timeoutMs: 5_000,
    clock: systemClock,
    random: { next: () => 0.5 },
    backoff: { baseMs: 10, capMs: 20 },
    ...more,
  };
}

export interface RecordedObserver extends RegistryObserver {
  readonly calls: string[];
}

/** Returns an observer that records all calls and calls `onUnavailable` for each, so that a test can wait for it. */
export function recordingObserver(
  onUnavailable: (reason: string) => void = () => {},
): RecordedObserver {
  const calls: string[] = [];
  return {
    calls,
    request: (operation, code) => calls.push(`${operation} ${code}`),
    unavailable: (reason) => {
      calls.push(`unavailable: ${reason}`);
      onUnavailable(reason);
    },
    available: () => calls.push('available'),
  };
}
