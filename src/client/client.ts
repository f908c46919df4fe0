/** The whole interface of a Content Review Service from code; what the connector's own pipelines use lies below it. */
import { ServiceClient } from '../service/client.ts';
import { SILENT_OBSERVER } from '../service/observer.ts';
import { systemClock } from '../service/system-clock.ts';
import { Batches } from './batches.ts';
import { Decisions } from './decisions.ts';
import { Imports } from './imports.ts';
import type { ContentReviewClientOptions } from './options.ts';

/**
 * Failures that may pass (429, 5xx, timeouts, resets) are tried again with backoff before an error comes out. Every method
 * takes an AbortSignal, and rejects with its reason, at once, when it is aborted; other errors are ContentReviewErrors.
 */
export class ContentReviewClient {
  readonly batches: Batches;
  readonly imports: Imports;
  readonly decisions: Decisions;
  readonly #service: ServiceClient;

  /** @throws TypeError when baseUrl or importPath cannot be used. */
  constructor(options: ContentReviewClientOptions) {
    const { apiKey, onRetry = () => {}, clock = systemClock, ...settings } = options;
    this.#service = new ServiceClient({
      ...settings,
      clock,
      random: { next: Math.random },
      apiKey: async () => (typeof apiKey === 'string' ? apiKey : await apiKey()),
      observer: { ...SILENT_OBSERVER, retry: onRetry },
    });
    this.batches = new Batches(this.#service, clock);
    this.imports = new Imports(this.#service, clock);
    this.decisions = new Decisions(this.#service, clock);
  }

  /** Ends what is under way with an AbortError and frees the connections. Repeatable. */
  close(): Promise<void> {
    return this.#service.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
