/** Settings of the client of a registry. Durations are in milliseconds. */
import type { Backoff } from '../../../packages/client/src/base/backoff.ts';
import type { Clock, Random } from '../../../packages/client/src/base/clock.ts';
import type { HttpExchange } from '../../core/ports/http.ts';

type RegistryCredentials =
  | { readonly kind: 'none' }
  /** Read for each request, so that a rotated secret is picked up. */
  | { readonly kind: 'basic'; readonly user: string; password(): Promise<string> }
  | { readonly kind: 'bearer'; token(): Promise<string> };

/**
 * Receives the traffic of the client, for metrics and health. Called synchronously; must not
 * throw. Nothing in it is a secret (I6).
 */
export interface RegistryObserver {
  /** Called after one exchange. `code` is the HTTP status, or RegistryUnavailable.code. */
  request(operation: RegistryOperation, code: string, seconds: number): void;
  /** Called each time that a schema is needed and the registry cannot answer. */
  unavailable(reason: string): void;
  /** Called when it answers again, or the schema is no longer needed. */
  available(): void;
}

export type RegistryOperation = 'schema' | 'version' | 'lookup' | 'compatibility' | 'register';

export interface RegistrySettings {
  /** http(s) addresses that the paths of the API are relative to; the last that answered is first. */
  readonly urls: readonly string[];
  readonly credentials: RegistryCredentials;
  /** Opens the connections; called once, at the first request. @throws TypeError fit to be shown */
  readonly open: () => HttpExchange;
  /** The whole of one request at one address. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly random: Pick<Random, 'next'>;
  readonly observer?: RegistryObserver;
  /** Pauses between tries while the registry is not available. Default 250 ms to 15 s. */
  readonly backoff?: Backoff;
}
