/** Hosts that are limited separately: the API's, and the hosts of presigned addresses. */
export type ServiceTarget = 'api' | 'storage';

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
  /** The concurrency limit at `target`, at first and after each change. */
  limit(target: ServiceTarget, limit: number): void;
  /** A host of presigned addresses is about to be used for the first time. */
  transferHost(host: string): void;
  /** A create may have made a resource of unknown id. It has no upload, so it costs nothing. */
  orphanPossible(): void;
}

export const SILENT_OBSERVER: ServiceObserver = {
  request() {},
  retry() {},
  limit() {},
  transferHost() {},
  orphanPossible() {},
};
