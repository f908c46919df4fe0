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
 * Observer of the client's traffic, for metrics. Called synchronously; must not throw. No argument
 * is a secret.
 */
export interface ServiceObserver {
  /**
   * One HTTP exchange is over. `code` is the HTTP status, or the reason why there was none (a
   * NetworkFailure, `aborted`); `seconds` runs until the answer was read, for downloads until its
   * headers came.
   */
  request?(operation: string, code: string, seconds: number): void;
  /** A failed exchange is about to be retried; `reason` as `code` above. */
  retry?(operation: string, reason: string): void;
  /** A host of presigned addresses is about to be used for the first time. */
  transferHost?(host: string): void;
  /** A create may have made a resource of unknown id. It has no upload, so it costs nothing. */
  orphanPossible?(): void;
}

// Addresses of the service: baseUrl, and the path of the import status below it.

/**
 * Checks baseUrl. Every call there carries the API key.
 * @throws TypeError when it is no http(s) address, has credentials, a query or a fragment, or
 * would carry the key in the clear
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
      `baseUrl must be https: by http the API key travels in the clear. If that is intended: allowHttp with ${hostOf(url)}`,
    );
  }
  return url;
}

/** Stands for the import's id in the path of the status check. */
export const IMPORT_ID_PLACEHOLDER = '{import_id}';

/** The interface does not show the path of the status check, so it is an option. */
const DEFAULT_IMPORT_PATH = `${PATHS.imports}/${IMPORT_ID_PLACEHOLDER}`;

/**
 * Returns why a text is no path of the status check; undefined when it is one. The id may also
 * stand in a query.
 */
export function problemWithImportPath(template: string): string | undefined {
  if (!template.startsWith('/')) return 'must begin with a slash: it is below baseUrl';
  if (!template.includes(IMPORT_ID_PLACEHOLDER)) return `must contain ${IMPORT_ID_PLACEHOLDER}`;
  const rest = template.replaceAll(IMPORT_ID_PLACEHOLDER, '');
  if (!/^[\x21-\x7e]*$/.test(rest) || /[#{}\\]/.test(rest)) {
    return `must be printable ASCII without #, backslash and braces but those of ${IMPORT_ID_PLACEHOLDER}`;
  }
  // Escaped dot segments count too: they would leave the addresses below baseUrl.
  const steps = (template.split('?')[0] ?? '').replaceAll(/%2e/gi, '.').split('/');
  if (!steps.includes('.') && !steps.includes('..')) return undefined;
  return 'must have no dot segments (. and ..)';
}

export interface RetrySettings {
  /** Attempts after the first one. */
  readonly maxRetries: number;
  /** No attempt starts later than this after the first failure. */
  readonly maxElapsedMs: number;
  /** Ceiling of the first wait; doubles with each failure, up to `capMs`. */
  readonly baseMs: number;
  readonly capMs: number;
}

interface ClientSettings extends HttpTimeouts {
  readonly retry: RetrySettings;
  /** Calls to baseUrl in flight at most. */
  readonly maxConcurrentRequests: number;
  /** Uploads in flight to one host at most, and as many downloads. */
  readonly maxConcurrentTransfers: number;
  /** An upload may take headersTimeoutMs plus its size at this speed. */
  readonly minUploadBytesPerSecond: number;
  /** A download may keep its reader waiting for bodyTimeoutMs plus the received size at this speed. */
  readonly minDownloadBytesPerSecond: number;
  /** Bytes of one download, decompressed. */
  readonly maxResultBytes: number;
  /** A compressed download may not grow by more than this factor (checked after the first MiB). */
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
  /** https address of the service, without `/v1`. http is accepted for this machine and hosts of `allowHttp`. */
  readonly baseUrl: string;
  /** API key, or a function that returns it; called for every request, so that a rotated key takes effect. */
  readonly apiKey: string | (() => string | Promise<string>);
  /** Retries of transient failures. Default: 5 retries, at most 60 s after the first failure. */
  readonly retry?: Partial<RetrySettings>;
  // Allowed addresses, and the way to them (docs/service-security.md).
  /** Hosts that may be reached by http, baseUrl's included; this machine always may. */
  readonly allowHttp?: readonly string[];
  /**
   * Hosts of transfers: `files.example.com`, `*.example.com`, also with `:port`. Default: every
   * host with public addresses.
   */
  readonly transferHosts?: readonly string[];
  /** Hosts, and ranges such as `10.0.0.0/8`, that transfers may reach at private addresses. */
  readonly allowPrivate?: readonly string[];
  /** Added to every upload, as long as it stays on its first origin. */
  readonly uploadHeaders?: ExtraHeaders;
  /** Default: as the environment has it. */
  readonly proxy?: ProxyRules;
  readonly tls?: TlsFiles;
  /** Name lookup, for tests. */
  readonly lookup?: LookupAll;
  readonly observer?: ServiceObserver;
  /** Time and chance, for tests. */
  readonly clock?: Clock;
  readonly random?: Pick<Random, 'next'>;
}

/** Options of every method of the client. */
export interface CallOptions {
  /** Aborts the call at once, with the signal's reason; `AbortSignal.timeout(60_000)` limits its time. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of downloads. */
export interface DownloadOptions extends CallOptions {
  /** Called with the number of bytes to come, unless the storage does not state it, or sends the file compressed. */
  readonly onLength?: ((bytes: number) => void) | undefined;
}

/** Options of the waits. */
export interface WaitOptions<View> extends CallOptions {
  /** Longest delay before the second request, in ms; grows by half with each request. Default 1 s. */
  readonly firstDelayMs?: number;
  /** Longest delay between two requests, in ms. Default 30 s. */
  readonly maxDelayMs?: number;
  /** Called with every response. */
  readonly onAnswer?: (view: View) => void;
}

/** Settings and collaborators that the parts of the client share. */
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

/** The object without members that are undefined: they would replace defaults. */
function defined<T extends object>(options: T): T {
  const entries = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as T;
}
