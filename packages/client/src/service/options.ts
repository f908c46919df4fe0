/** Settings of the client and their defaults. All durations are in milliseconds. */

import { type Clock, type Random, systemClock, systemRandom } from '../base/clock.ts';
import type { LookupAll } from '../http/dialer.ts';
import type { ExtraHeaders } from '../http/extra-headers.ts';
import type { HttpTimeouts } from '../http/http.ts';
import type { ProxyFor } from '../http/proxy.ts';
import type { TlsFiles } from '../http/tls-files.ts';
import {
  hostOf,
  hostPatterns,
  isLoopbackHost,
  matchesHost,
  parseWebAddress,
} from '../http/web-address.ts';
import { PATHS } from './contract.ts';

/**
 * Observer of the client's requests, for metrics. Its methods are called synchronously and must not
 * throw. No argument is a secret.
 */
export interface ServiceObserver {
  /**
   * Called when an HTTP exchange has ended. `code` is the HTTP status, or the reason why there was
   * none (a NetworkFailure, or `aborted`). `seconds` includes reading the response, except for
   * downloads, where it ends with the headers.
   */
  request?(operation: string, code: string, seconds: number): void;
  /** Called before a failed exchange is retried. `reason` has the values of `code` above. */
  retry?(operation: string, reason: string): void;
  /** Called before a host of presigned addresses is used for the first time. */
  transferHost?(host: string): void;
  /** Called if a create may have made a resource whose id is unknown. It has no upload, so it costs nothing. */
  orphanPossible?(): void;
}

// Addresses of the service: baseUrl, and the path of the import status, which is below baseUrl.

/**
 * Checks baseUrl. Every call to it contains the API key.
 * @throws TypeError if it is not an http(s) address, has credentials, a query or a fragment, or
 * would send the key unencrypted
 * @param allowHttp hosts that may be reached by http (patterns as in web-address.ts)
 */
export function checkedBaseUrl(baseUrl: string, allowHttp: readonly string[]): URL {
  const url = parseWebAddress(baseUrl);
  if (url === undefined) {
    throw new TypeError('baseUrl must be an absolute http:// or https:// address');
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new TypeError('baseUrl must have no credentials, query or fragment');
  }
  const isAllowed = isLoopbackHost(url) || matchesHost(hostPatterns(allowHttp), url);
  if (url.protocol === 'http:' && !isAllowed) {
    throw new TypeError(
      `baseUrl must be https: with http the API key is sent unencrypted. If that is intended, set allowHttp to ${hostOf(url)}`,
    );
  }
  return url;
}

/** Placeholder for the import's id in the path of the import status. */
export const IMPORT_ID_PLACEHOLDER = '{import_id}';

/** The API does not define the path of the import status, so it is an option. */
const DEFAULT_IMPORT_PATH = `${PATHS.imports}/${IMPORT_ID_PLACEHOLDER}`;

/** Returns why a string cannot be the path of the import status, or undefined if it can. The id may be in a query. */
export function problemWithImportPath(template: string): string | undefined {
  if (!template.startsWith('/')) return 'must begin with a slash: it is below baseUrl';
  if (!template.includes(IMPORT_ID_PLACEHOLDER)) return `must contain ${IMPORT_ID_PLACEHOLDER}`;
  const rest = template.replaceAll(IMPORT_ID_PLACEHOLDER, '');
  if (!/^[\x21-\x7e]*$/.test(rest) || /[#{}\\]/.test(rest)) {
    return `must be printable ASCII without #, backslash and braces, except the braces of ${IMPORT_ID_PLACEHOLDER}`;
  }
  // Escaped dot segments are refused too, because they would lead to addresses that are not below
  // baseUrl.
  const steps = (template.split('?')[0] ?? '').replaceAll(/%2e/gi, '.').split('/');
  if (!steps.includes('.') && !steps.includes('..')) return undefined;
  return 'must have no dot segments (. and ..)';
}

export interface RetrySettings {
  /** Maximum number of attempts after the first one. */
  readonly maxRetries: number;
  /** Time in ms from the first failure after which no attempt starts. */
  readonly maxElapsedMs: number;
  /** Ceiling of the first wait in ms. It doubles with each failure, up to `capMs`. */
  readonly baseMs: number;
  readonly capMs: number;
}

interface ClientSettings extends HttpTimeouts {
  readonly retry: RetrySettings;
  /** Maximum number of concurrent calls to baseUrl. */
  readonly maxConcurrentRequests: number;
  /** Maximum number of concurrent uploads to one host. Downloads have the same limit. */
  readonly maxConcurrentTransfers: number;
  /** Minimum upload speed. Uploads may take headersTimeoutMs plus their size divided by this. */
  readonly minUploadBytesPerSecond: number;
  /** Minimum download speed. Readers may wait bodyTimeoutMs plus the received size divided by this. */
  readonly minDownloadBytesPerSecond: number;
  /** Maximum decompressed size of a download. */
  readonly maxResultBytes: number;
  /** Maximum growth factor of a compressed download, checked after the first MiB. */
  readonly maxDecompressionRatio: number;
  /** Path of the import status below baseUrl. `{import_id}` stands for the id. */
  readonly importPath: string;
}

export const DEFAULT_SETTINGS: ClientSettings = {
  connectTimeoutMs: 10_000,
  headersTimeoutMs: 30_000,
  bodyTimeoutMs: 30_000,
  retry: { maxRetries: 5, maxElapsedMs: 60_000, baseMs: 250, capMs: 15_000 },
  maxConcurrentRequests: 16,
  maxConcurrentTransfers: 8,
  minUploadBytesPerSecond: 64 * 1024,
  minDownloadBytesPerSecond: 4 * 1024,
  maxResultBytes: 1024 ** 3,
  maxDecompressionRatio: 200,
  importPath: DEFAULT_IMPORT_PATH,
};

/** Options of a {@link ContentReviewClient}. Durations are in milliseconds. */
export interface ContentReviewClientOptions extends Partial<Omit<ClientSettings, 'retry'>> {
  /** https address of the service, without `/v1`. http is allowed for this machine, and for hosts in `allowHttp`. */
  readonly baseUrl: string;
  /** API key, or a function that returns it and is called for every request, so that a rotated key takes effect. */
  readonly apiKey: string | (() => string | Promise<string>);
  /** Retries of transient failures. Default: 5 retries, at most 60 s after the first failure. */
  readonly retry?: Partial<RetrySettings>;
  // Allowed addresses, and connections (docs/service-security.md).
  /** Hosts that may be reached by http. This applies to baseUrl too. This machine is always allowed. */
  readonly allowHttp?: readonly string[];
  /** Hosts for transfers: `files.example.com`, `*.example.com`, also with `:port`. Default: all public addresses. */
  readonly transferHosts?: readonly string[];
  /** Hosts and ranges such as `10.0.0.0/8` whose private addresses transfers may use. */
  readonly allowPrivate?: readonly string[];
  /** Headers for every upload request, except after a redirect to another origin. */
  readonly uploadHeaders?: ExtraHeaders;
  /** Chooses the proxy of an address. Default: the proxy in the environment. */
  readonly proxy?: ProxyFor;
  readonly tls?: TlsFiles;
  /** Name lookup, for tests. */
  readonly lookup?: LookupAll;
  readonly observer?: ServiceObserver;
  /** Time and randomness, for tests. */
  readonly clock?: Clock;
  readonly random?: Pick<Random, 'next'>;
}

/** Options of all methods of the client. */
export interface CallOptions {
  /** Aborts the call at once with the signal's reason. For a time limit, use `AbortSignal.timeout(60_000)`. */
  readonly signal?: AbortSignal | undefined;
  /** Awaited before each request to `baseUrl`, including retries, but not before transfers. */
  readonly beforeRequest?: ((signal: AbortSignal) => Promise<void>) | undefined;
}

/** Options of downloads. */
export interface DownloadOptions extends CallOptions {
  /** Called with the file's size in bytes, unless the storage does not send it or sends the file compressed. */
  readonly onLength?: ((bytes: number) => void) | undefined;
}

/** Options of the methods that wait. */
export interface WaitOptions<View> extends CallOptions {
  /** Maximum delay in ms before the second request. Grows by half with each request. Default: 1 s. */
  readonly firstDelayMs?: number;
  /** Maximum delay in ms between two requests. Default: 30 s. */
  readonly maxDelayMs?: number;
  /** Called with every response. */
  readonly onAnswer?: (view: View) => void;
}

/** Settings and dependencies that the parts of the client share. */
export interface ServiceContext {
  readonly settings: ClientSettings;
  readonly clock: Clock;
  readonly random: Pick<Random, 'next'>;
  readonly observer: ServiceObserver;
}

/** Returns the settings with their defaults. */
export function contextOf(options: ContentReviewClientOptions): ServiceContext {
  const { clock = systemClock, random = systemRandom, observer = {} } = options;
  const retry = { ...DEFAULT_SETTINGS.retry, ...defined(options.retry ?? {}) };
  const settings = { ...DEFAULT_SETTINGS, ...defined(options), retry };
  return { settings, clock, random, observer };
}

/** Returns the object without undefined members, which would override defaults. */
function defined<T extends object>(options: T): T {
  const entries = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as T;
}
