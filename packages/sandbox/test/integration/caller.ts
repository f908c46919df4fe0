/** A caller of the sandbox that shows everything: raw requests, no retries, no hidden headers. */
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import type { TestContext } from 'node:test';
import type { Label } from '../../../client/src/service/contract.ts';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox.ts';

interface CreateBatchResponse {
  readonly batch_id: string;
  readonly batch_status: string;
  readonly upload_url: string;
  readonly download_url: null;
}

interface GetBatchResponse {
  readonly batch_id: string;
  readonly type: string;
  readonly batch_status: string;
  readonly upload_url: null;
  readonly download_url: string | null;
  readonly batch_count: number;
  readonly success_count: number;
  readonly pending_count: number;
  readonly error_count: number;
  readonly cancelled_count: number;
}

interface CreateImportResponse {
  readonly import_id: string;
  readonly import_status: string;
  readonly upload_url: string;
}

interface GetImportResponse {
  readonly import_id: string;
  readonly import_status: string;
}

interface GetDecisionResponse {
  readonly decision_id: string;
  readonly decision_status: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly result: string | null;
  readonly labels: readonly Label[] | null;
}

export const API_KEY = 'test-key';
const API_HEADERS = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' };
const CSV_HEADERS = { 'content-type': 'text/csv' };

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
  body?: string | Buffer,
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      url,
      { method, headers, agent: new Agent({ keepAlive: false }) },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk) => chunks.push(chunk));
        response.on('error', (error) =>
          reject(Object.assign(error, { received: Buffer.concat(chunks).length })),
        );
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text: Buffer.concat(chunks).toString(),
          }),
        );
      },
    );
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

export class Caller {
  readonly baseUrl: string;

  constructor(baseUrl: string) {
    this.baseUrl = baseUrl;
  }

  post(body: unknown, headers: Record<string, string> = API_HEADERS): Promise<Reply> {
    return raw(
      'POST',
      `${this.baseUrl}/v1/batches`,
      headers,
      typeof body === 'string' ? body : JSON.stringify(body),
    );
  }

  get(path: string, headers: Record<string, string> = API_HEADERS): Promise<Reply> {
    return raw('GET', `${this.baseUrl}${path}`, headers);
  }

  async create(type = 'comment'): Promise<CreateBatchResponse> {
    return JSON.parse((await this.post({ type })).text);
  }

  async retrieve(batchId: string): Promise<GetBatchResponse> {
    return JSON.parse((await this.get(`/v1/batches/${batchId}`)).text);
  }

  upload(
    address: string,
    csv: string | Buffer,
    headers: Record<string, string> = {},
  ): Promise<Reply> {
    const length = String(Buffer.byteLength(csv));
    return raw('PUT', address, { ...CSV_HEADERS, 'content-length': length, ...headers }, csv);
  }

  /** Asks until the batch is in this state; the test's own time limit ends a wait in vain. */
  async until(batchId: string, status: string): Promise<GetBatchResponse> {
    for (;;) {
      const batch = await this.retrieve(batchId);
      if (batch.batch_status === status) return batch;
    }
  }

  /** Creates, uploads, waits for the end. */
  async reviewed(csv: string, type = 'comment', status = 'SUCCESS'): Promise<GetBatchResponse> {
    const { batch_id, upload_url } = await this.create(type);
    await this.upload(upload_url, csv);
    return this.until(batch_id, status);
  }

  createImport(headers: Record<string, string> = API_HEADERS, body?: string): Promise<Reply> {
    return raw('POST', `${this.baseUrl}/v1/import`, headers, body);
  }

  async newImport(): Promise<CreateImportResponse> {
    return JSON.parse((await this.createImport()).text);
  }

  async retrieveImport(
    importId: string,
  ): Promise<GetImportResponse & { readonly record_count: number }> {
    return JSON.parse((await this.get(`/v1/import/${importId}`)).text);
  }

  uploadJsonl(address: string, jsonl: string | Buffer): Promise<Reply> {
    return this.upload(address, jsonl, { 'content-type': 'application/jsonl' });
  }

  /** Asks until the import is in this state; the test's own time limit ends a wait in vain. */
  async untilImport(
    importId: string,
    status: string,
  ): Promise<GetImportResponse & { readonly record_count: number }> {
    for (;;) {
      const one = await this.retrieveImport(importId);
      if (one.import_status === status) return one;
    }
  }

  /** Creates, uploads, waits for the end. */
  async imported(jsonl: string | Buffer, status = 'COMPLETE'): Promise<string> {
    const { import_id, upload_url } = await this.newImport();
    await this.uploadJsonl(upload_url, jsonl);
    await this.untilImport(import_id, status);
    return import_id;
  }

  async decision(decisionId: string): Promise<GetDecisionResponse> {
    return JSON.parse((await this.get(`/v1/decisions/${encodeURIComponent(decisionId)}`)).text);
  }

  async results(batch: GetBatchResponse): Promise<Reply> {
    return raw('GET', batch.download_url ?? '');
  }

  async control(method: string, path: string, body?: unknown): Promise<Reply> {
    const headers = { 'content-type': 'application/json' };
    return raw(
      method,
      `${this.baseUrl}/sandbox/${path}`,
      headers,
      body === undefined ? undefined : JSON.stringify(body),
    );
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
