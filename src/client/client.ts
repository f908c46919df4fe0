/** The whole interface of a Content Review Service from code; what the connector's own pipelines use lies below it. */

import { systemClock } from '../base/system-clock.ts';
import { SILENT_OBSERVER } from '../http/observer.ts';
import { proxyRules } from '../http/proxy.ts';
import { ServiceClient } from '../service/client.ts';
import { Batches } from './batches.ts';
import { Decisions } from './decisions.ts';
import { Imports } from './imports.ts';
import { type ContentReviewClientOptions, withoutUndefined } from './options.ts';

/**
 * Failures that may pass (429, 5xx, timeouts, resets) are tried again with backoff before an error comes out. Every method
 * takes an AbortSignal, and rejects with its reason, at once, when it is aborted; other errors are ContentReviewErrors.
 */
export class ContentReviewClient {
  readonly batches: Batches;
  readonly imports: Imports;
  readonly decisions: Decisions;
  readonly #service: ServiceClient;
  readonly #closing = new AbortController();

  /** @throws TypeError when an option cannot be used, or the environment names a proxy that cannot. */
  constructor(options: ContentReviewClientOptions) {
    const defined = withoutUndefined(options);
    const {
      apiKey,
      onRetry = () => {},
      clock = systemClock,
      retry = {},
      proxy = 'environment',
      ...settings
    } = defined;
    this.#service = new ServiceClient({
      ...settings,
      proxy: proxyRules(proxy, process.env),
      retry: withoutUndefined(retry),
      clock,
      random: { next: Math.random },
      apiKey: async () => (typeof apiKey === 'string' ? apiKey : await apiKey()),
      observer: { ...SILENT_OBSERVER, retry: onRetry },
    });
    const { signal: closed } = this.#closing;
    this.batches = new Batches(this.#service, clock, closed);
    this.imports = new Imports(this.#service, clock, closed);
    this.decisions = new Decisions(this.#service, clock, closed);
  }

  /** Ends what is under way, waits included, with an AbortError, and frees the connections. Repeatable. */
  close(): Promise<void> {
    this.#closing.abort(new DOMException('The client was closed', 'AbortError'));
    return this.#service.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
