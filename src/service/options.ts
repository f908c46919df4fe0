/** Settings of the client, with the defaults that hold when one is left out. Every duration is in milliseconds. */
import type { Clock, Random } from '../core/ports/clock.ts';
import { DEFAULT_IMPORT_PATH } from './imports.ts';
import { type ServiceObserver, SILENT_OBSERVER } from './observer.ts';

export interface HttpTimeouts {
  /** Name lookup, TCP and TLS together. */
  readonly connectTimeoutMs: number;
  /** From the start of sending to the end of the answer's headers. Uploads get more, see minUploadBytesPerSecond. */
  readonly headersTimeoutMs: number;
  /** Longest silence inside a download; for answers of the API the longest time that the whole body may take. */
  readonly bodyTimeoutMs: number;
}

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
  maxDecompressionRatio: 200,
  importPath: DEFAULT_IMPORT_PATH,
};

export interface ServiceClientOptions extends Partial<Omit<ServiceClientSettings, 'retry'>> {
  /** http(s) address that the paths of service-interface.md section 4 are relative to. */
  readonly baseUrl: string;
  /** Asked for every single request, so that a rotated key is picked up. */
  readonly apiKey: () => Promise<string>;
  readonly clock: Clock;
  readonly random: Pick<Random, 'next'>;
  readonly observer?: ServiceObserver;
  readonly retry?: Partial<RetrySettings>;
  /** Asked for each presigned address and each redirect. Default: any http(s) address. */
  readonly allowUrl?: AllowUrl;
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
  const { baseUrl: _, apiKey: __, clock, random, observer, retry, allowUrl: ___, ...settings } = options;
  return {
    settings: { ...DEFAULT_SETTINGS, ...settings, retry: { ...DEFAULT_SETTINGS.retry, ...retry } },
    clock,
    random,
    observer: observer ?? SILENT_OBSERVER,
  };
}
