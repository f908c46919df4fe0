/** Settings of the client and their defaults. Every duration is in milliseconds. */

import type { Clock, Random } from '../base/clock.ts';
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
  request(operation: string, code: string, seconds: number): void;
  /** A failed exchange is about to be retried; `reason` as `code` above. */
  retry(operation: string, reason: string): void;
  /** A host of presigned addresses is about to be used for the first time. */
  transferHost(host: string): void;
  /** A create may have made a resource of unknown id. It has no upload, so it costs nothing. */
  orphanPossible(): void;
}

export const SILENT_OBSERVER: ServiceObserver = {
  request() {},
  retry() {},
  transferHost() {},
  orphanPossible() {},
};

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

interface ServiceClientSettings extends HttpTimeouts {
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

export const DEFAULT_SETTINGS: ServiceClientSettings = {
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

/** Allowed addresses, and the way to them (docs/service-security.md). */
export interface NetworkOptions {
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
  /** Default: none. */
  readonly proxy?: ProxyRules;
  readonly tls?: TlsFiles;
  /** Name lookup, for tests. */
  readonly lookup?: LookupAll;
}

export interface ServiceClientOptions
  extends Partial<Omit<ServiceClientSettings, 'retry'>>,
    NetworkOptions {
  /** http(s) address, without `/v1`. */
  readonly baseUrl: string;
  /** Called for every request, so that a rotated key is picked up. */
  readonly apiKey: () => Promise<string>;
  readonly clock: Clock;
  readonly random: Pick<Random, 'next'>;
  readonly observer?: ServiceObserver;
  readonly retry?: Partial<RetrySettings>;
}

/** Settings and collaborators that the parts of the client share. */
export interface ServiceContext {
  readonly settings: ServiceClientSettings;
  readonly clock: Clock;
  readonly random: Pick<Random, 'next'>;
  readonly observer: ServiceObserver;
}

/** Fills in the defaults. */
export function contextOf(options: ServiceClientOptions): ServiceContext {
  const { clock, random, observer = SILENT_OBSERVER } = options;
  const retry = { ...DEFAULT_SETTINGS.retry, ...defined(options.retry ?? {}) };
  return { settings: { ...DEFAULT_SETTINGS, ...defined(options), retry }, clock, random, observer };
}

/** The object without members that are undefined: they would replace defaults. */
function defined<T extends object>(options: T): T {
  const entries = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as T;
}
