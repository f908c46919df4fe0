/** What the client of the registry needs to know. Durations are in milliseconds. */
import type { Backoff } from '../../base/backoff.ts';
import type { Clock, Random } from '../../base/clock.ts';
import type { HttpExchange } from '../../core/ports/http.ts';

export type RegistryCredentials =
  | { readonly kind: 'none' }
  /** Asked for each request, so that a rotated secret is picked up. */
  | { readonly kind: 'basic'; readonly user: string; password(): Promise<string> }
  | { readonly kind: 'bearer'; token(): Promise<string> };

/** What the client tells about its traffic, for metrics and health. Called synchronously; must not throw. Nothing in it is a secret (I6). */
export interface RegistryObserver {
  /** One exchange is over. `code` is the HTTP status, or why there was none (RegistryUnavailable.code). */
  request(operation: RegistryOperation, code: string, seconds: number): void;
  /** Somebody waits for a registry that cannot answer. Called again while it lasts. */
  unavailable(reason: string): void;
  /** It answers again, or nobody waits any more. */
  available(): void;
}

export const SILENT_REGISTRY_OBSERVER: RegistryObserver = {
  request() {},
  unavailable() {},
  available() {},
};

export const REGISTRY_OPERATIONS = [
  'schema',
  'version',
  'versions',
  'lookup',
  'compatibility',
  'register',
  'config',
  'set_config',
] as const;
export type RegistryOperation = (typeof REGISTRY_OPERATIONS)[number];

export interface RegistrySettings {
  /** http(s) addresses that the paths of the API are relative to; tried in turn, the one that answered last goes first. */
  readonly urls: readonly string[];
  readonly credentials: RegistryCredentials;
  /** The way there; called once, when it is first needed. @throws TypeError that says what is wrong with it, and may be shown */
  readonly open: () => HttpExchange;
  /** The whole of one request at one address. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly random: Pick<Random, 'next'>;
  readonly observer?: RegistryObserver;
  /** Waits between tries while the registry is not available. */
  readonly backoff?: Backoff;
  /** How long an id that the registry does not know counts as unknown before it is asked for again. */
  readonly unknownMs?: number;
}

export const REGISTRY_BACKOFF: Backoff = { baseMs: 250, capMs: 15_000 };
/** A registry's replicas may lag behind the one that the producer registered with: Kafka's poll interval, and some. */
export const UNKNOWN_MS = 5_000;
