/**
 * Files to and from presigned addresses (service-interface.md section 1). The address is the authorization: no key goes
 * there, and no header beyond what is needed, since an unsigned one can break the signature (FINDINGS).
 */
import { abortable } from '../core/abortable.ts';
import { AdaptiveLimit } from './adaptive-limit.ts';
import { decoderOf, gunzip } from './decompression.ts';
import { errorText, exchange, isSuccess, networkProblem } from './exchange.ts';
import type { HttpAnswer, HttpPool, HttpRequest } from './http.ts';
import { NetworkError, networkError } from './network-error.ts';
import type { AllowUrl, ServiceContext } from './options.ts';
import { Permits } from './permits.ts';
import { parseWebAddress } from './presigned-address.ts';
import { type Attempt, type Problem, serviceError } from './problem.ts';
import { shownAddress } from './redaction.ts';
import { isRedirect, MAX_REDIRECTS, redirectTarget } from './redirect.ts';
import { withRetry } from './retry.ts';
import { storageProblem } from './storage-problem.ts';
import { BodySource, type UploadBody } from './upload-body.ts';

/** Made from the request itself, or not ours to send to a presigned address. */
const RESERVED_HEADERS = /^(authorization|content-length|content-type|host|connection|transfer-encoding)$/i;

export interface UploadOptions {
  /** Sent exactly so: it is part of the signature. */
  readonly contentType: string;
  readonly signal: AbortSignal;
  /** What a storage needs besides, such as `x-ms-blob-type: BlockBlob` (Azure). */
  readonly extraHeaders?: Readonly<Record<string, string>>;
}

type TransferRequest = Omit<HttpRequest, 'url' | 'body'> & { readonly source?: BodySource };
type Opened = { readonly answer: HttpAnswer; readonly address: string };

export class Transfer {
  readonly #context: ServiceContext;
  readonly #pool: HttpPool;
  readonly #allowUrl: AllowUrl;
  readonly #uploads: Permits;
  readonly #downloads: Permits;
  readonly #limit: AdaptiveLimit;

  constructor(context: ServiceContext, pool: HttpPool, allowUrl: AllowUrl) {
    this.#context = context;
    this.#pool = pool;
    this.#allowUrl = allowUrl;
    const { maxConcurrentTransfers: max, limitWindowMs: windowMs } = context.settings;
    const uploads = new Permits(max);
    const downloads = new Permits(max);
    this.#uploads = uploads;
    this.#downloads = downloads;
    this.#limit = new AdaptiveLimit({
      max,
      windowMs,
      clock: context.clock,
      onChange: (limit) => {
        uploads.resize(limit);
        downloads.resize(limit);
        context.observer.limit('storage', limit);
      },
    });
  }

  /**
   * PUT of the whole body, with its Content-Length. The same PUT again is harmless, so unclear outcomes are tried again,
   * as long as the body can be made again.
   * @throws ServiceError: `expired`, `too_large`, `rejected`, `not_found`, `unavailable`, `protocol`; the signal's reason when aborted;
   * what the source of a streamed body threw, and RangeError when it had another length than it said.
   */
  async upload(uploadUrl: string, body: UploadBody, options: UploadOptions): Promise<void> {
    const operation = 'upload';
    const url = addressOf(operation, uploadUrl);
    const source = new BodySource(body);
    const extra = Object.entries(options.extraHeaders ?? {}).filter(([name]) => !RESERVED_HEADERS.test(name));
    const { headersTimeoutMs, minUploadBytesPerSecond } = this.#context.settings;
    const request: TransferRequest = {
      method: 'PUT',
      headers: { 'content-type': options.contentType, 'content-length': String(source.length), ...Object.fromEntries(extra) },
      source,
      // The pool's clock for headers starts with the first byte sent, so it has to cover the sending too.
      headersTimeoutMs: headersTimeoutMs + Math.ceil((source.length / minUploadBytesPerSecond) * 1000),
    };
    await withRetry(this.#context, operation, options.signal, () =>
      this.#uploads.run(options.signal, async () => {
        try {
          const opened = await this.#follow(operation, request, url, options.signal);
          if ('value' in opened) opened.value.answer.discard();
          source.throwIfFailed();
          return 'problem' in opened && !source.repeatable ? { ...opened, problem: onlyOnce(opened.problem) } : opened;
        } finally {
          source.close();
        }
      }),
    );
  }

  /**
   * GET of a file: its bytes as they come, decompressed when they were stored so. Nothing is sent before the first chunk is
   * asked for; leaving the loop frees the connection. A body that fails half-way is not tried again here: only the caller
   * knows what it can skip.
   * @throws ServiceError: as `upload`, and `protocol` for a body that ends early or cannot be decompressed; the signal's reason when aborted.
   */
  async *download(downloadUrl: string, options: { readonly signal: AbortSignal }): AsyncGenerator<Buffer, void, void> {
    const operation = 'download';
    const { signal } = options;
    const url = addressOf(operation, downloadUrl);
    const release = await this.#downloads.acquire(signal);
    try {
      const startedMs = this.#context.clock.now();
      const { answer, address } = await withRetry(this.#context, operation, signal, () =>
        this.#follow(operation, { method: 'GET', headers: {} }, url, signal),
      );
      try {
        yield* this.#decoded(answer);
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        const failure = error instanceof NetworkError ? error : networkError(error, 'body');
        if (!(failure instanceof NetworkError)) throw failure;
        if (failure.failure === 'body_timeout') this.#limit.overloaded(startedMs);
        this.#context.observer.request(operation, failure.failure, (this.#context.clock.now() - startedMs) / 1000);
        throw serviceError(operation, address, bodyProblem(failure, answer.status));
      }
    } finally {
      release();
    }
  }

  async *#decoded(answer: HttpAnswer): AsyncGenerator<Buffer, void, void> {
    const decoder = decoderOf(answer.header('content-encoding'));
    if (decoder === 'identity') yield* answer.body as AsyncIterable<Buffer>;
    else if (decoder === 'gzip') yield* gunzip(answer.body, this.#context.settings.maxDecompressionRatio);
    else {
      answer.discard();
      throw new NetworkError('bad_answer', 'UNKNOWN_CONTENT_ENCODING');
    }
  }

  async #follow(operation: string, request: TransferRequest, first: URL, signal: AbortSignal): Promise<Attempt<Opened>> {
    const startedMs = this.#context.clock.now();
    return this.#limit.learn(await this.#redirected(operation, request, first, signal), startedMs);
  }

  /** One attempt, through redirects: by hand, because the method and body must stay, and every new host must be allowed. */
  async #redirected(
    operation: string,
    { source, ...request }: TransferRequest,
    first: URL,
    signal: AbortSignal,
  ): Promise<Attempt<Opened>> {
    let url = first;
    for (let redirects = 0; ; redirects++) {
      const address = shownAddress(url);
      if (!(await abortable(Promise.resolve(this.#allowUrl(url)), signal)))
        return { problem: refused('is not an allowed address for transfers'), address };
      if (source?.exhausted)
        return { problem: refused('was not called: the body was sent to a redirect, and can be made only once'), address };
      const sent = { ...request, url, ...(source === undefined ? {} : { body: source.open() }) };
      const exchanged = await exchange(this.#context, this.#pool, operation, sent, signal, async (answer) =>
        isSuccess(answer) ? undefined : await errorText(answer),
      );
      if ('problem' in exchanged) return { problem: exchanged.problem, address };
      const { answer, read: text } = exchanged;
      if (text === undefined) return { value: { answer, address } };
      if (!isRedirect(answer.status)) return { problem: storageProblem(answer, text, this.#context.clock.now()), address };

      const next =
        redirects < MAX_REDIRECTS ? redirectTarget(url, answer.header('location')) : `redirects more than ${MAX_REDIRECTS} times`;
      if (typeof next === 'string') return { problem: refused(next, answer.status), address };
      url = next;
    }
  }
}

function refused(what: string, status?: number): Problem {
  return { failure: 'protocol', what, reason: 'refused', status };
}

function onlyOnce(problem: Problem): Problem {
  if (problem.failure !== 'unavailable') return problem;
  return { ...problem, final: true, advice: 'it was not tried again, because its body can be made only once: start over' };
}

function addressOf(operation: string, text: string): URL {
  const url = parseWebAddress(text);
  if (url !== undefined) return url;
  throw serviceError(operation, 'a presigned address', refused('was not called: it is not an http(s) address'));
}

function bodyProblem(error: NetworkError, status: number): Problem {
  if (error.failure === 'reset') {
    const what = `was cut: the file ended before its end (${error.code})`;
    return { failure: 'protocol', what, reason: 'reset', status, advice: 'download it again; what was read up to here is good' };
  }
  if (error.failure !== 'bad_answer') return { ...networkProblem(error), status };
  const what = `sent a file that cannot be decoded (${error.code})`;
  return { failure: 'protocol', what, reason: 'bad_answer', status, advice: 'check how the storage compresses its files' };
}
