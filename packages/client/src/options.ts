import type { Clock } from './base/clock.ts';
import type { NetworkOptions, RetrySettings } from './service/options.ts';

/**
 * Options of a {@link ContentReviewClient}. Durations are in milliseconds. Allowed hosts, proxies (from the environment) and certificates:
 * docs/service-security.md.
 */
export interface ContentReviewClientOptions extends Omit<NetworkOptions, 'proxy' | 'lookup'> {
  /** https address of the service, without `/v1`. http is accepted for this machine and hosts of `allowHttp`. */
  readonly baseUrl: string;
  /** API key, or a function that returns it; called for every request, so that a rotated key takes effect. */
  readonly apiKey: string | (() => string | Promise<string>);
  /** Path of the status check of imports, with `{import_id}` in it. Default `/v1/import/{import_id}`. */
  readonly importPath?: string;
  /** Retries of transient failures. Default: 5 retries, at most 60 s after the first failure. */
  readonly retry?: Partial<RetrySettings>;
  /** Timeout of name lookup, TCP and TLS. Default 10 s. */
  readonly connectTimeoutMs?: number;
  /** Timeout until the headers of a response arrive; longer for large uploads. Default 30 s. */
  readonly headersTimeoutMs?: number;
  /** Longest silence within a response. Default 30 s. */
  readonly bodyTimeoutMs?: number;
  /** Slowest accepted upload, in bytes per second. Default 64 KiB. */
  readonly minUploadBytesPerSecond?: number;
  /** Concurrent calls to the service. Default 16. */
  readonly maxConcurrentRequests?: number;
  /** Concurrent uploads to one host, and as many concurrent downloads. Default 8. */
  readonly maxConcurrentTransfers?: number;
  /** Largest result file in bytes, decompressed. Default 1 GiB. */
  readonly maxResultBytes?: number;
  /** Called before each retry; `reason` is an HTTP status or a word such as `reset`. */
  readonly onRetry?: (operation: string, reason: string) => void;
  /** Clock for tests. */
  readonly clock?: Clock;
}

/** Options of every method of the client. */
export interface ClientCallOptions {
  /** Aborts the call at once, with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of `waitFor`. */
export interface WaitOptions<View> extends ClientCallOptions {
  /** Timeout in ms. Default: none. */
  readonly timeoutMs?: number | undefined;
  /** Longest delay before the second request, in ms; grows by half with each request. Default 1 s. */
  readonly firstDelayMs?: number;
  /** Longest delay between two requests, in ms. Default 30 s. */
  readonly maxDelayMs?: number;
  /** Called with every response. */
  readonly onAnswer?: (view: View) => void;
}
