import { systemClock } from './base/clock.ts';
import { Calls } from './calls.ts';
import { proxyFromEnvironment } from './http/proxy.ts';
import type { ContentReviewClientOptions } from './options.ts';
import { BatchResource, DecisionResource, ImportResource } from './resources.ts';
import { ServiceClient } from './service/client.ts';
import { SILENT_OBSERVER } from './service/options.ts';

/**
 * Client of a Content Review Service.
 *
 * Transient failures (429, 5xx, timeouts, resets) are retried with backoff. Every method accepts an AbortSignal and
 * rejects with its reason as soon as it is aborted; any other failure of a request is a ContentReviewError.
 *
 * @example
 * await using client = new ContentReviewClient({
 *   baseUrl: 'https://review.example.com',
 *   apiKey: process.env.API_KEY ?? '',
 * });
 * const batchId = await client.batches.submit('comment', { path: 'comments.csv' });
 * await client.batches.waitFor(batchId);
 * for await (const row of client.batches.results(batchId)) console.log(row.content, row.result);
 */
export class ContentReviewClient {
  readonly batches: BatchResource;
  readonly imports: ImportResource;
  readonly decisions: DecisionResource;
  readonly #service: ServiceClient;
  readonly #closing = new AbortController();

  /** @throws TypeError for an invalid option, or an invalid proxy in the environment. */
  constructor(options: ContentReviewClientOptions) {
    const { apiKey, onRetry = () => {}, clock = systemClock, ...rest } = options;
    this.#service = new ServiceClient({
      ...rest,
      proxy: proxyFromEnvironment(process.env),
      clock,
      random: { next: Math.random },
      apiKey: async () => (typeof apiKey === 'string' ? apiKey : await apiKey()),
      observer: { ...SILENT_OBSERVER, retry: onRetry },
    });
    const calls = new Calls(this.#service, clock, onRetry, this.#closing.signal);
    this.batches = new BatchResource(calls);
    this.imports = new ImportResource(calls);
    this.decisions = new DecisionResource(calls);
  }

  /** Aborts all calls, waits included, with an AbortError, and closes the connections. Repeatable. */
  close(): Promise<void> {
    this.#closing.abort(new DOMException('The client was closed', 'AbortError'));
    return this.#service.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
