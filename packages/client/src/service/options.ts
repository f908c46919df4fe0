/** Settings of the client and their defaults. Every duration is in milliseconds. */
import type { Clock, Random } from '../base/clock.ts';
import type { LookupAll } from '../http/dialer.ts';
import type { ExtraHeaders } from '../http/extra-headers.ts';
import type { HttpTimeouts } from '../http/http.ts';
import { type ServiceObserver, SILENT_OBSERVER } from '../http/observer.ts';
import type { ProxyRules } from '../http/proxy.ts';
import type { TlsFiles } from '../http/tls-files.ts';
import { DEFAULT_IMPORT_PATH } from './base-url.ts';

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
  /** Calls to baseUrl in flight at most; overload lowers it for a while. */
  readonly maxConcurrentRequests: number;
  /** Uploads in flight at most, and as many downloads: neither can starve the other. */
  readonly maxConcurrentTransfers: number;
  /** Overload cuts a limit at most once in this time; as long without overload raises it by one. */
  readonly limitWindowMs: number;
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
  limitWindowMs: 1_000,
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
