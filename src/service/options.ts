/** Settings of the client, with the defaults that hold when one is left out. Every duration is in milliseconds. */
import type { Clock, Random } from '../base/clock.ts';
import type { LookupAll } from '../http/dialer.ts';
import type { ExtraHeaders } from '../http/extra-headers.ts';
import type { HttpTimeouts } from '../http/http.ts';
import { type ServiceObserver, SILENT_OBSERVER } from '../http/observer.ts';
import type { ProxyRules } from '../http/proxy.ts';
import type { TlsFiles } from '../http/tls-files.ts';
import { DEFAULT_IMPORT_PATH } from './base-url.ts';

export interface RetrySettings {
  /** Tries after the first one. */
  readonly maxRetries: number;
  /** No try starts later than this after the first failure. */
  readonly maxElapsedMs: number;
  /** Ceiling of the first wait; doubles with each failure. */
  readonly baseMs: number;
  readonly capMs: number;
}

/** Decides whether an address that the service (or a redirect) named may be talked to. May look names up. */
export type AllowUrl = (url: URL) => boolean | Promise<boolean>;

export interface ServiceClientSettings extends HttpTimeouts {
  readonly retry: RetrySettings;
  /** Calls to base_url under way at once, at most: overload lowers it for a while. */
  readonly maxConcurrentRequests: number;
  /** Uploads under way at once, and as many downloads, at most: neither can starve the other. */
  readonly maxConcurrentTransfers: number;
  /** See AdaptiveLimitOptions.windowMs. */
  readonly limitWindowMs: number;
  /** An upload may take headersTimeoutMs plus its size at this speed. */
  readonly minUploadBytesPerSecond: number;
  /** A download may keep its reader waiting for bodyTimeoutMs plus what came, compressed, at this speed. */
  readonly minDownloadBytesPerSecond: number;
  /** Bytes of one download, decompressed. */
  readonly maxResultBytes: number;
  /** A compressed download may not grow by more than this factor (checked after the first MiB). */
  readonly maxDecompressionRatio: number;
  /** Path below base_url that an import's status is asked at; `{import_id}` stands for the id. */
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

/** Where this client may go, and how (docs/service-security.md). */
export interface NetworkOptions {
  /** Hosts that may be talked to by http, base_url's included; this machine may always. */
  readonly allowHttp?: readonly string[];
  /** Hosts of transfers: `files.example.com`, `*.example.com`, with `:port` if it matters. Default: every host with public addresses. */
  readonly transferHosts?: readonly string[];
  /** Hosts, and ranges such as `10.0.0.0/8`, that transfers may reach although their addresses are not public. */
  readonly allowPrivate?: readonly string[];
  /** Asked for each presigned address and each redirect, after the rules above. Default: all that they let through. */
  readonly allowUrl?: AllowUrl;
  /** Of every upload, as long as it stays on its first origin. */
  readonly uploadHeaders?: ExtraHeaders;
  /** Of every download, as long as it stays on its first origin. */
  readonly downloadHeaders?: ExtraHeaders;
  /** Default: none. */
  readonly proxy?: ProxyRules;
  readonly tls?: TlsFiles;
  /** Name lookup, for tests. */
  readonly lookup?: LookupAll;
}

export interface ServiceClientOptions
  extends Partial<Omit<ServiceClientSettings, 'retry'>>,
    NetworkOptions {
  /** http(s) address that the paths of service-interface.md section 4 are relative to. */
  readonly baseUrl: string;
  /** Asked for every single request, so that a rotated key is picked up. */
  readonly apiKey: () => Promise<string>;
  readonly clock: Clock;
  readonly random: Pick<Random, 'next'>;
  readonly observer?: ServiceObserver;
  readonly retry?: Partial<RetrySettings>;
}

/** What the parts of the client share: all settings filled in, and the injected collaborators. */
export interface ServiceContext {
  readonly settings: ServiceClientSettings;
  readonly clock: Clock;
  readonly random: Pick<Random, 'next'>;
  readonly observer: ServiceObserver;
}

/** Fills in the defaults. */
export function contextOf(options: ServiceClientOptions): ServiceContext {
  const { clock, random, observer = SILENT_OBSERVER } = options;
  const retry = { ...DEFAULT_SETTINGS.retry, ...options.retry };
  return { settings: { ...DEFAULT_SETTINGS, ...options, retry }, clock, random, observer };
}
