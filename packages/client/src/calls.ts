import type { Clock } from './base/clock.ts';
import { ServiceError, type ServiceFailure } from './base/service-error.ts';
import {
  BlockedError,
  ExpiredError,
  NotFoundError,
  ProtocolError,
  RejectedError,
  type RequestError,
  TooLargeError,
  UnauthorizedError,
  UnavailableError,
  WaitTimeoutError,
} from './errors.ts';
import type { ClientCallOptions, WaitOptions } from './options.ts';
import type { ServiceClient } from './service/client.ts';
import { type ClientUploadOptions, type UploadSource, uploadBodyOf } from './upload-source.ts';

/** Time after its creation in which a resource may be unknown to the service, in ms: reads may lag behind writes. */
const CREATED_MS = 30_000;
/** Created resources that are remembered. */
const MAX_CREATED = 1_000;
/** Longest outage of the service that is waited out, in ms, counted from its last response. */
const OUTAGE_MS = 10 * 60_000;
/** Delay after a failed request in an outage, in ms, unless the service names one. */
const OUTAGE_DELAY_MS = 1_000;

/** Calls to the service with public errors; all of them end when the client is closed. */
export class Calls {
  readonly clock: Clock;
  readonly onRetry: (operation: string, reason: string) => void;
  readonly #service: ServiceClient;
  readonly #closed: AbortSignal;
  readonly #createdMs = new Map<string, number>();

  constructor(
    service: ServiceClient,
    clock: Clock,
    onRetry: (operation: string, reason: string) => void,
    closed: AbortSignal,
  ) {
    this.#service = service;
    this.clock = clock;
    this.onRetry = onRetry;
    this.#closed = closed;
  }

  /** Returns a signal that aborts with the caller's, and when the client is closed. */
  signal({ signal }: ClientCallOptions = {}): AbortSignal {
    return signal === undefined ? this.#closed : AbortSignal.any([signal, this.#closed]);
  }

  /** Runs one call. @throws ContentReviewError; the signal's reason. */
  async run<T>(
    options: ClientCallOptions | undefined,
    call: (service: ServiceClient, options: { readonly signal: AbortSignal }) => Promise<T>,
  ): Promise<T> {
    try {
      return await call(this.#service, { signal: this.signal(options) });
    } catch (error) {
      throw publicError(error);
    }
  }

  /** Passes chunks or rows on. @throws as `run` */
  async *stream<T>(
    options: ClientCallOptions,
    read: (service: ServiceClient, signal: AbortSignal) => AsyncIterable<T>,
  ): AsyncGenerator<T, void, undefined> {
    const signal = this.signal(options);
    try {
      for await (const item of read(this.#service, signal)) {
        yield item;
        signal.throwIfAborted();
      }
    } catch (error) {
      throw publicError(error);
    }
  }

  /**
   * Uploads a source to the address of what `create` resolves to. A source that cannot be read is refused before that.
   * @returns what was created.
   */
  async upload<T extends { readonly uploadUrl: string }>(
    source: UploadSource,
    contentType: string,
    { signal, onProgress }: ClientUploadOptions,
    create: () => Promise<T>,
  ): Promise<T> {
    const body = await uploadBodyOf(source, onProgress);
    const created = await create();
    await this.run({ signal }, (service, call) =>
      service.upload(created.uploadUrl, body, { ...call, contentType }),
    );
    return created;
  }

  /** Remembers a resource that the service has just created. */
  created(id: string): void {
    const [oldest] = this.#createdMs.keys();
    if (oldest !== undefined && this.#createdMs.size >= MAX_CREATED) this.#createdMs.delete(oldest);
    this.#createdMs.set(id, this.clock.monotonic());
  }

  /**
   * Polls until `isFinished`, ever less often and with jitter.
   * @throws WaitTimeoutError after timeoutMs; ContentReviewError; the signal's reason.
   */
  async wait<View extends { readonly rawStatus: string }>(
    id: string,
    options: WaitOptions<View>,
    get: (options: ClientCallOptions) => Promise<View>,
    isFinished: (view: View) => boolean,
  ): Promise<View> {
    const { timeoutMs, firstDelayMs = 1_000, maxDelayMs = 30_000 } = options;
    const caller = this.signal(options);
    const deadline = new AbortController();
    const signal = AbortSignal.any([caller, deadline.signal]);
    const disarm =
      timeoutMs === undefined ? () => {} : this.clock.after(timeoutMs, () => deadline.abort());
    let lastStatus: string | undefined;
    let answeredMs = this.#createdMs.has(id) ? this.clock.monotonic() : undefined;

    // Delay after a failure that more time may heal. @throws any other failure
    const delayAfter = (error: unknown, delayMs: number): number => {
      const nowMs = this.clock.monotonic();
      const ageMs = nowMs - (this.#createdMs.get(id) ?? -Infinity);
      if (error instanceof NotFoundError && ageMs < CREATED_MS) return delayMs;
      if (!(error instanceof UnavailableError) || answeredMs === undefined) throw error;
      const outageDelayMs = error.retryAfterMs ?? OUTAGE_DELAY_MS;
      if (nowMs - answeredMs + outageDelayMs > OUTAGE_MS) throw error;
      return outageDelayMs;
    };

    try {
      for (let requests = 0; ; requests++) {
        const ceilingMs = Math.min(maxDelayMs, firstDelayMs * 1.5 ** requests);
        let delayMs = ceilingMs * (0.5 + Math.random() / 2);
        try {
          const view = await get({ signal });
          answeredMs = this.clock.monotonic();
          lastStatus = view.rawStatus;
          options.onAnswer?.(view);
          if (isFinished(view)) return view;
        } catch (error) {
          delayMs = delayAfter(error, delayMs);
        }
        await this.clock.sleep(delayMs, signal);
      }
    } catch (error) {
      if (timeoutMs !== undefined && deadline.signal.aborted && !caller.aborted)
        throw new WaitTimeoutError(id, lastStatus, timeoutMs);
      throw error;
    } finally {
      disarm();
    }
  }
}

const BY_FAILURE: Readonly<Record<ServiceFailure, new (error: ServiceError) => RequestError>> = {
  rejected: RejectedError,
  unauthorized: UnauthorizedError,
  not_found: NotFoundError,
  too_large: TooLargeError,
  expired: ExpiredError,
  unavailable: UnavailableError,
  blocked: BlockedError,
  protocol: ProtocolError,
};

/** Returns the public error for a ServiceError, and any other error unchanged. */
function publicError(error: unknown): unknown {
  return error instanceof ServiceError ? new BY_FAILURE[error.failure](error) : error;
}
