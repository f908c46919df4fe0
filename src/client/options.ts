import type { Clock } from '../base/clock.ts';
import type { ProxySetting } from '../http/proxy.ts';
import type { NetworkOptions, RetrySettings } from '../service/options.ts';

/** Every duration is in milliseconds; what is left out has a default. Where it may go: docs/service-security.md. */
export interface ContentReviewClientOptions extends Omit<NetworkOptions, 'proxy' | 'lookup'> {
  /** https address of the service, without `/v1`. By http only on this machine, or a host of `allowHttp`. */
  readonly baseUrl: string;
  /** The key, or where to get it: a function is asked for every request, so that a rotated key is picked up. */
  readonly apiKey: string | (() => string | Promise<string>);
  /** Path of the status check of imports, with `{import_id}` in it. Default `/v1/import/{import_id}`. */
  readonly importPath?: string;
  /** How what may pass is tried again. Default: 5 times, at most 60 s after the first failure. */
  readonly retry?: Partial<RetrySettings>;
  /** Name lookup, TCP and TLS. Default 10 s. */
  readonly connectTimeoutMs?: number;
  /** Until the headers of an answer are there; uploads get more by their size. Default 30 s. */
  readonly headersTimeoutMs?: number;
  /** Longest silence within an answer. Default 30 s. */
  readonly bodyTimeoutMs?: number;
  /** Slowest upload that is waited for, bytes in a second. Default 64 KiB. */
  readonly minUploadBytesPerSecond?: number;
  /** Calls to the service at once. Default 16; overload lowers it for a while. */
  readonly maxConcurrentRequests?: number;
  /** Uploads at once, and as many downloads. Default 8. */
  readonly maxConcurrentTransfers?: number;
  /** Largest result file, bytes, decompressed. Default 1 GiB. */
  readonly maxResultBytes?: number;
  /** Default: `environment`, that is HTTPS_PROXY, HTTP_PROXY and NO_PROXY. */
  readonly proxy?: ProxySetting;
  /** Told before a failed request is tried again; `reason` is an HTTP status or a word such as `reset`. */
  readonly onRetry?: (operation: string, reason: string) => void;
  /** Time, for tests. */
  readonly clock?: Clock;
}

export interface CallOptions {
  /** Ends the call at once, with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** Aborts when the caller's signal does, or when the client is closed. */
export function signalOf(options: CallOptions | undefined, closed: AbortSignal): AbortSignal {
  return options?.signal === undefined ? closed : AbortSignal.any([options.signal, closed]);
}

/** Without members that are undefined: they would take the place of defaults. */
export function withoutUndefined<T extends object>(options: T): T {
  return Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined),
  ) as T;
}
