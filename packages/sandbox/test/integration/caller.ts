/** A caller of the sandbox that shows everything: raw requests, no retries, no hidden headers. */
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import type { TestContext } from 'node:test';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox.ts';

export const API_KEY = 'test-key';
const API_HEADERS = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' };

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** Sends one request on a connection of its own. Rejects when the connection breaks before or within the answer. */
export function raw(
  method: string,
  url: string,
  headers: Record<string, string> = {},
  body?: string,
): Promise<Reply> {
  const { promise, resolve, reject } = Promise.withResolvers<Reply>();
  const agent = new Agent({ keepAlive: false });
  request(url, { method, headers, agent }, async (response) => {
    const { statusCode = 0, headers } = response;
    const text = (await response.toArray()).join('');
    resolve({ status: statusCode, headers, text });
  })
    .on('error', reject)
    .end(body);
  return promise;
}

export class Caller {
  readonly #baseUrl: string;

  constructor(baseUrl: string) {
    this.#baseUrl = baseUrl;
  }

  post(body: unknown, headers: Record<string, string> = API_HEADERS): Promise<Reply> {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    return raw('POST', `${this.#baseUrl}/v1/batches`, headers, text);
  }

  get(path: string, headers: Record<string, string> = API_HEADERS): Promise<Reply> {
    return raw('GET', `${this.#baseUrl}${path}`, headers);
  }

  async create(type = 'comment') {
    return JSON.parse((await this.post({ type })).text);
  }

  async retrieve(batchId: string) {
    return JSON.parse((await this.get(`/v1/batches/${batchId}`)).text);
  }

  upload(address: string, body: string, type = 'text/csv'): Promise<Reply> {
    const length = String(Buffer.byteLength(body));
    return raw('PUT', address, { 'content-type': type, 'content-length': length }, body);
  }

  /** Creates and uploads. @returns the batch, which ends at once by the default policy */
  async reviewed(csv: string) {
    const { batch_id, upload_url } = await this.create();
    await this.upload(upload_url, csv);
    return await this.retrieve(batch_id);
  }
}

/** A sandbox that ends with the test; failures of the sandbox itself fail the test. */
export async function sandboxFor(
  t: TestContext,
  options: Partial<SandboxOptions> = {},
): Promise<{ sandbox: Sandbox; caller: Caller }> {
  const failures: unknown[] = [];
  const sandbox = await startSandbox({
    apiKeys: [API_KEY],
    onError: (error) => failures.push(error),
    ...options,
  });
  t.after(async () => {
    await sandbox.stop();
    if (failures.length > 0) throw failures[0];
  });
  return { sandbox, caller: new Caller(sandbox.baseUrl) };
}

/** Time that moves only when told. */
export class HandClock {
  #now = Date.UTC(2026, 10, 21);
  readonly #waiting = new Set<{ due: number; fire: () => void }>();

  now(): number {
    return this.#now;
  }

  after(ms: number, fire: () => void): () => void {
    const entry = { due: this.#now + ms, fire };
    this.#waiting.add(entry);
    return () => this.#waiting.delete(entry);
  }

  /** Moves on by `ms` and fires what has become due. */
  advance(ms: number): void {
    this.#now += ms;
    for (const entry of [...this.#waiting]) {
      if (entry.due > this.#now || !this.#waiting.delete(entry)) continue;
      entry.fire();
    }
  }
}
