/**
 * Transfers of files to and from presigned addresses. The address itself is the authorization. No
 * key and no unneeded header is sent, because an unsigned header can invalidate the signature
 * (User-Agent never does).
 */
import { err, ok, type Result } from '../base/result.ts';
import { plainBytes } from '../http/decompression.ts';
import { currentHeaders, type ExtraHeaders } from '../http/extra-headers.ts';
import type { HttpAnswer, HttpPool, HttpRequest } from '../http/http.ts';
import { NetworkError, networkError } from '../http/network-error.ts';
import { shownAddress } from '../http/redaction.ts';
import { BodySource, type UploadBody } from '../http/upload-body.ts';
import {
  isRedirect,
  leavesHttps,
  MAX_REDIRECTS,
  parseWebAddress,
  redirectTarget,
} from '../http/web-address.ts';
import {
  downloadProblem,
  type ServiceAttempt,
  type ServiceProblem,
  serviceError,
  storageProblem,
} from './error-classification.ts';
import type { DownloadOptions, ServiceContext } from './options.ts';
import { errorText, exchange, isSuccess, type ServiceRequest, withRetry } from './request.ts';
import type { TransferPolicy } from './transfer-policy.ts';

/**
 * Gathers chunks into pieces of `size` bytes. The last may be smaller. Bytes before an error are
 * yielded before it is thrown. Chunks are copied on arrival, because each byte of a body that
 * arrives byte by byte would otherwise keep hundreds of bytes of objects in memory.
 */
export async function* gathered(
  chunks: AsyncIterable<Buffer>,
  size: number,
): AsyncGenerator<Buffer, void, void> {
  let piece = Buffer.allocUnsafeSlow(size);
  let length = 0;
  try {
    for await (const chunk of chunks)
      for (let from = 0; from < chunk.length; ) {
        const copied = chunk.copy(piece, length, from);
        from += copied;
        length += copied;
        if (length < size) continue;
        yield piece;
        piece = Buffer.allocUnsafeSlow(size);
        length = 0;
      }
  } catch (error) {
    if (length > 0) yield Buffer.from(piece.subarray(0, length));
    throw error;
  }
  if (length > 0) yield Buffer.from(piece.subarray(0, length));
}

/** Maximum number of hosts to remember, so that each is reported only once. */
const MAX_HOSTS = 1000;
/** Size of a piece of a download. A reader in another thread receives one message per piece. */
const PIECE_BYTES = 256 * 1024;
/**
 * Statuses after which an upload may have been stored, because the storage or a gateway failed
 * while handling it. 501 and 503 are sent before anything is stored. 303 refers to a completed
 * action.
 */
const MAY_HAVE_ARRIVED = /^(303|5(?!01|03)\d\d)$/;

export interface TransferCall {
  readonly signal: AbortSignal;
}

export interface UploadCall extends TransferCall {
  /** Content-Type, sent exactly as given because it is part of the signature. */
  readonly contentType: string;
}

interface TransferOptions {
  readonly policy: TransferPolicy;
  readonly uploadHeaders: ExtraHeaders;
}

interface TransferRequest extends Omit<HttpRequest, 'body' | 'onSent'> {
  readonly operation: 'upload' | 'download';
  readonly source?: BodySource;
}

/** Separate pools, so that uploads and downloads do not starve each other. Both refuse addresses by the policy. */
interface TransferPools {
  readonly upload: HttpPool;
  readonly download: HttpPool;
}

interface OpenedTransfer {
  readonly answer: HttpAnswer;
  readonly address: string;
}

export class Transfer {
  readonly #context: ServiceContext;
  readonly #pools: TransferPools;
  readonly #options: TransferOptions;
  readonly #hosts = new Set<string>();

  constructor(context: ServiceContext, pools: TransferPools, options: TransferOptions) {
    this.#context = context;
    this.#pools = pools;
    this.#options = options;
  }

  /**
   * PUT of the whole body with its Content-Length. It is idempotent, so it is retried if its
   * outcome is unknown.
   * @throws ServiceError: `expired`, `too_large`, `rejected`, `not_found`, `unavailable`,
   * `blocked`, `protocol`, with `mayHaveArrived`; the signal's reason if aborted; the error of a
   * streamed body's source, or RangeError if its length differs from the declared one
   */
  async upload(uploadUrl: string, body: UploadBody, call: UploadCall): Promise<void> {
    const { contentType, signal } = call;
    const source = new BodySource(body);
    const { headersTimeoutMs, minUploadBytesPerSecond } = this.#context.settings;
    const request: TransferRequest = {
      operation: 'upload',
      method: 'PUT',
      url: addressOf('upload', uploadUrl),
      headers: { 'content-type': contentType, 'content-length': String(source.length) },
      source,
      // The pool's headers timeout starts with the first byte sent, so it includes the time for
      // sending.
      headersTimeoutMs:
        headersTimeoutMs + Math.ceil((source.length / minUploadBytesPerSecond) * 1000),
    };
    let mayHaveArrived = false;
    await withRetry(this.#context, 'upload', signal, async (resends) => {
      try {
        const sent = await this.#send(request, resends, signal);
        if (sent.ok) sent.value.answer.discard();
        source.throwIfFailed();
        if (sent.ok) return sent;
        mayHaveArrived ||= sent.error.mayHaveArrived === true;
        return err({ ...sent.error, mayHaveArrived });
      } finally {
        source.close();
      }
    });
  }

  /**
   * GET of a file. Yields its bytes in pieces, decompressed if it was stored compressed. Nothing is
   * sent before the first piece is requested. Leaving the loop frees the connection. The caller
   * owns each piece. A body that fails half-way is not retried here, because only the caller can
   * skip the bytes read.
   * @throws ServiceError like `upload`; `protocol` for a body that ends early or cannot be
   * decompressed, `blocked` for one that is too large or has an unknown encoding; the signal's
   * reason if aborted
   */
  async *download(
    downloadUrl: string,
    { signal, onLength }: TransferCall & Pick<DownloadOptions, 'onLength'>,
  ): AsyncGenerator<Buffer, void, void> {
    const request: TransferRequest = {
      operation: 'download',
      method: 'GET',
      url: addressOf('download', downloadUrl),
      headers: {},
    };
    const { clock, observer } = this.#context;
    const startedMs = clock.monotonic();
    const { answer, address } = await withRetry(this.#context, 'download', signal, (resends) =>
      this.#send(request, resends, signal),
    );
    const length = answer.header('content-length');
    if (length !== undefined && answer.header('content-encoding') === undefined)
      onLength?.(Number(length));
    try {
      yield* this.#plain(answer);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      const failure = networkError(error, 'body');
      if (!(failure instanceof NetworkError)) throw failure;
      observer.request?.('download', failure.failure, (clock.monotonic() - startedMs) / 1000);
      throw serviceError('download', { ...downloadProblem(failure, answer.status), address });
    }
  }

  async *#plain(answer: HttpAnswer): AsyncGenerator<Buffer, void, void> {
    const { maxResultBytes, maxDecompressionRatio, ...settings } = this.#context.settings;
    try {
      if (Number(answer.header('content-length') ?? 0) > maxResultBytes) {
        throw new NetworkError('blocked', 'RESULT_TOO_LARGE');
      }
      const chunks = plainBytes(answer.body, answer.header('content-encoding'), {
        maxBytes: maxResultBytes,
        maxRatio: maxDecompressionRatio,
        graceMs: settings.bodyTimeoutMs,
        bytesPerSecond: settings.minDownloadBytesPerSecond,
      });
      yield* gathered(chunks, PIECE_BYTES);
    } finally {
      if (!answer.body.destroyed) answer.discard();
    }
  }

  /** Makes one attempt with the current values of the configured extra headers. */
  async #send(
    request: TransferRequest,
    resends: number,
    signal: AbortSignal,
  ): Promise<ServiceAttempt<OpenedTransfer>> {
    const { operation, url } = request;
    const configured = await currentHeaders(
      operation === 'upload' ? this.#options.uploadHeaders : {},
    );
    if (!configured.ok) return err({ ...noHeader(configured.error), address: shownAddress(url) });
    return await this.#follow(request, configured.value, resends, signal);
  }

  /**
   * Follows redirects. They must keep method and body, and every new host must be allowed.
   * @param extra headers that are only for the origin that the service named
   */
  async #follow(
    { source, ...request }: TransferRequest,
    extra: Readonly<Record<string, string>>,
    resends: number,
    signal: AbortSignal,
  ): Promise<ServiceAttempt<OpenedTransfer>> {
    let from = request.url;
    let { url } = request;
    for (let redirects = 0; ; redirects++) {
      const address = shownAddress(url);
      const objection = this.#objection(request.operation, from, url);
      if (objection !== undefined) {
        const what = `was not called: ${objection}`;
        return err({ failure: 'blocked', what, reason: 'blocked', address });
      }
      let isSent = false;
      const sent: ServiceRequest = {
        ...request,
        resends: resends + redirects,
        url,
        headers: { ...request.headers, ...(url.origin === request.url.origin && extra) },
        ...(source && { body: source.open() }),
        onSent: () => {
          isSent = true;
        },
      };
      const read = (answer: HttpAnswer) => this.#read(answer, url, redirects);
      const attempt = await exchange(
        this.#context,
        this.#pools[request.operation],
        sent,
        signal,
        read,
      );
      if (!attempt.ok) {
        const { status } = attempt.error;
        const mayHaveArrived =
          status === undefined ? isSent : MAY_HAVE_ARRIVED.test(String(status));
        return err({ ...attempt.error, mayHaveArrived });
      }
      if (!(attempt.value instanceof URL)) return ok({ answer: attempt.value, address });
      from = url;
      url = attempt.value;
    }
  }

  /** Returns the response if it is successful, or the next address if it is a redirect. */
  async #read(
    answer: HttpAnswer,
    url: URL,
    redirects: number,
  ): Promise<Result<HttpAnswer | URL, ServiceProblem>> {
    if (isSuccess(answer)) return ok(answer);
    const text = await errorText(answer);
    const { status } = answer;
    if (!isRedirect(status)) return err(storageProblem(answer, text, this.#context.clock.now()));
    if (redirects >= MAX_REDIRECTS) {
      return err(refused(`redirects more than ${MAX_REDIRECTS} times`, status));
    }
    const next = redirectTarget(url, answer.header('location'));
    return next.ok ? next : err(refused(next.error, status));
  }

  /** Returns why an address may not be used, in words that can follow "upload at host/path was not called:". */
  #objection(operation: string, from: URL, url: URL): string | undefined {
    const { observer } = this.#context;
    const objection = leavesHttps(from, url)
      ? 'a redirect led there from https to http'
      : this.#options.policy.objection(url);
    if (objection !== undefined) observer.request?.(operation, 'blocked', 0);
    else if (!this.#hosts.has(url.host) && this.#hosts.size < MAX_HOSTS) {
      this.#hosts.add(url.host);
      observer.transferHost?.(url.host);
    }
    return objection;
  }
}

function refused(what: string, status?: number): ServiceProblem {
  return { failure: 'protocol', what, reason: 'refused', status };
}

/** The failure is transient, because a file may be in rotation. The records then wait for a retry. */
function noHeader(name: string): ServiceProblem {
  const what = `was not called: cannot read the extra header "${name}", or its value is invalid`;
  const advice = 'check the source of service.transfer.uploadHeaders';
  return { failure: 'unavailable', what, reason: 'no_header', advice };
}

function addressOf(operation: string, text: string): URL {
  const url = parseWebAddress(text);
  if (url !== undefined) return url;
  const problem = refused('was not called: it is not an http(s) address');
  throw serviceError(operation, { ...problem, address: 'a presigned address' });
}
