/** Settings of the client and their defaults. Every duration is in milliseconds. */

import { type Clock, type Random, systemClock, systemRandom } from '../base/clock.ts';
import type { LookupAll } from '../http/dialer.ts';
import type { ExtraHeaders } from '../http/extra-headers.ts';
import type { HttpTimeouts } from '../http/http.ts';
import type { ProxyRules } from '../http/proxy.ts';
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
 * Observer of the client's traffic, for metrics. Its methods are called synchronously and must not throw.
 * No argument is a secret.
 */
export interface ServiceObserver {
  /**
   * An HTTP exchange has ended. `code` is the HTTP status, or the reason why there was none (a
   * NetworkFailure, `aborted`). `seconds` includes reading the response; for downloads it ends with
   * the headers.
   */
  request?(operation: string, code: string, seconds: number): void;
  /** A failed exchange is about to be retried; `reason` has the values of `code` above. */
  retry?(operation: string, reason: string): void;
  /** A host of presigned addresses is about to be used for the first time. */
  transferHost?(host: string): void;
  /** A create may have made a resource whose id is unknown. It has no upload, so it costs nothing. */
  orphanPossible?(): void;
}

// Addresses of the service: baseUrl, and the path of the import status below it.

/**
 * Checks baseUrl. Every call there carries the API key.
 * @throws TypeError if it is not an http(s) address, has credentials, a query or a fragment, or
 * would send the key unencrypted
 * @param allowHttp hosts (web-address.ts) that may be reached by http
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

/** Placeholder for the import's id in the path of the status check. */
export const IMPORT_ID_PLACEHOLDER = '{import_id}';

/** The interface does not define the path of the status check, so it is an option. */
const DEFAULT_IMPORT_PATH = `${PATHS.imports}/${IMPORT_ID_PLACEHOLDER}`;

/** Returns why a text cannot be the path of the status check; undefined if it can. The id may be in a query. */
export function problemWithImportPath(template: string): string | undefined {
  if (!template.startsWith('/')) return 'must begin with a slash: it is below baseUrl';
  if (!template.includes(IMPORT_ID_PLACEHOLDER)) return `must contain ${IMPORT_ID_PLACEHOLDER}`;
  const rest = template.replaceAll(IMPORT_ID_PLACEHOLDER, '');
  if (!/^[\x21-\x7e]*$/.test(rest) || /[#{}\\]/.test(rest)) {
    return `must be printable ASCII without #, backslash and braces but those of ${IMPORT_ID_PLACEHOLDER}`;
  }
  // Escaped dot segments are refused, too: they would lead to addresses that are not below baseUrl.
  const steps = (template.split('?')[0] ?? '').replaceAll(/%2e/gi, '.').split('/');
  if (!steps.includes('.') && !steps.includes('..')) return undefined;
  return 'must have no dot segments (. and ..)';
}

export interface RetrySettings {
  /** Maximum number of attempts after the first. */
  readonly maxRetries: number;
  /** Time after the first failure, in ms, after which no attempt starts. */
  readonly maxElapsedMs: number;
  /** Ceiling of the first wait, in ms. It doubles with each failure, up to `capMs`. */
  readonly baseMs: number;
  readonly capMs: number;
}

interface ClientSettings extends HttpTimeouts {
  readonly retry: RetrySettings;
  /** Maximum number of concurrent calls to baseUrl. */
  readonly maxConcurrentRequests: number;
  /** Maximum number of concurrent uploads to one host; downloads have the same limit. */
  readonly maxConcurrentTransfers: number;
  /** Slowest upload: it may take headersTimeoutMs plus its size at this speed. */
  readonly minUploadBytesPerSecond: number;
  /** Slowest download: its reader may wait bodyTimeoutMs plus the received size at this speed. */
  readonly minDownloadBytesPerSecond: number;
  /** Maximum size of a download, decompressed. */
  readonly maxResultBytes: number;
  /** Maximum growth factor of a compressed download, checked after the first MiB. */
  readonly maxDecompressionRatio: number;
  /** Path of an import's status below baseUrl; `{import_id}` stands for the id. */
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
  /** https address of the service, without `/v1`. http is accepted for this machine and for hosts in `allowHttp`. */
  readonly baseUrl: string;
  /** API key, or a function that returns it, which is called for every request so that a rotated key takes effect. */
  readonly apiKey: string | (() => string | Promise<string>);
  /** Retries of transient failures. Default: 5 retries, at most 60 s after the first failure. */
  readonly retry?: Partial<RetrySettings>;
  // Allowed addresses and connections (docs/service-security.md).
  /** Hosts that may be reached by http, also for baseUrl. This machine is always allowed. */
  readonly allowHttp?: readonly string[];
  /** Hosts of transfers: `files.example.com`, `*.example.com`, also with `:port`. Default: all hosts with public addresses. */
  readonly transferHosts?: readonly string[];
  /** Hosts and ranges such as `10.0.0.0/8` that transfers may reach at private addresses. */
  readonly allowPrivate?: readonly string[];
  /** Headers of every upload request, except after a redirect to another origin. */
  readonly uploadHeaders?: ExtraHeaders;
  /** Default: from the environment. */
  readonly proxy?: ProxyRules;
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
  /** Aborts the call immediately with the signal's reason; `AbortSignal.timeout(60_000)` sets a time limit. */
  readonly signal?: AbortSignal | undefined;
  /** Awaited before each request to `baseUrl`, including retries, but not before transfers. */
  readonly beforeRequest?: ((signal: AbortSignal) => Promise<void>) | undefined;
}

/** Options of downloads. */
export interface DownloadOptions extends CallOptions {
  /** Called with the size in bytes, unless the storage does not state it or sends the file compressed. */
  readonly onLength?: ((bytes: number) => void) | undefined;
}

/** Options of the waits. */
export interface WaitOptions<View> extends CallOptions {
  /** Longest delay before the second request, in ms. Grows by half with each request. Default 1 s. */
  readonly firstDelayMs?: number;
  /** Longest delay between two requests, in ms. Default 30 s. */
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

/** Fills in the defaults. */
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
