/** Hosts that are loaded apart: base_url, and whatever is behind presigned addresses. */
export type ServiceTarget = 'api' | 'storage';

/** What the client tells about its traffic, for metrics. Called synchronously; must not throw. No argument is a secret (I6). */
export interface ServiceObserver {
  /**
   * One HTTP exchange is over. `code` is the HTTP status, or why there was none (a NetworkFailure, `aborted`); `seconds`
   * runs until the answer was read, for downloads until its headers came.
   */
  request(operation: string, code: string, seconds: number): void;
  /** A failed exchange is about to be tried again; `reason` as `code` above. */
  retry(operation: string, reason: string): void;
  /** How much may go on at once at `target`, now that its answers have changed that. */
  limit(target: ServiceTarget, limit: number): void;
  /** A host of presigned addresses is about to be talked to for the first time. */
  transferHost(host: string): void;
  /** The time of an answer by the clock of who gave it (Date), ms since the epoch, to the second; and by the clock of this machine. */
  answeredAt?(dateMs: number, hereMs: number): void;
  /** A create may have made something that nobody knows the id of. It has no upload, so it costs nothing (DESIGN 4). */
  orphanPossible(): void;
}

export const SILENT_OBSERVER: ServiceObserver = {
  request() {},
  retry() {},
  limit() {},
  transferHost() {},
  orphanPossible() {},
};
