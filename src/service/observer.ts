/** What the client tells about its traffic, for metrics. Called synchronously; must not throw. No argument is a secret (I6). */
export interface ServiceObserver {
  /**
   * One HTTP exchange is over. `code` is the HTTP status, or why there was none (a NetworkFailure, `aborted`); `seconds`
   * runs until the answer was read, for downloads until its headers came.
   */
  request(operation: string, code: string, seconds: number): void;
  /** A failed exchange is about to be tried again; `reason` as `code` above. */
  retry(operation: string, reason: string): void;
  /** A create may have made something that nobody knows the id of. It has no upload, so it costs nothing (DESIGN 4). */
  orphanPossible(): void;
}

export const SILENT_OBSERVER: ServiceObserver = { request() {}, retry() {}, orphanPossible() {} };
