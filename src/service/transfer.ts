/**
 * Files to and from presigned addresses (service-interface.md section 1). The address is the authorization: no key goes
 * there, and no header beyond what is needed, since an unsigned one can break the signature (FINDINGS); User-Agent never does.
 */
import { abortable } from '../base/abortable.ts';
import { plainBytes } from '../http/decompression.ts';
import {
  currentHeaders,
  type ExtraHeaders,
  problemWithExtraHeader,
} from '../http/extra-headers.ts';
import type { HttpAnswer, HttpPool, HttpRequest } from '../http/http.ts';
import { NetworkError, networkError } from '../http/network-error.ts';
import { Permits } from '../http/permits.ts';
import { parseWebAddress } from '../http/presigned-address.ts';
import { shownAddress } from '../http/redaction.ts';
import { isRedirect, leavesHttps, MAX_REDIRECTS, redirectTarget } from '../http/redirect.ts';
import { BodySource, type UploadBody } from '../http/upload-body.ts';
import { AdaptiveLimit } from './adaptive-limit.ts';
import type { AllowUrl, ServiceContext } from './options.ts';
import { type Attempt, type Problem, serviceError } from './problem.ts';
import { errorText, exchange, isSuccess, networkProblem } from './request.ts';
import { withRetry } from './retry.ts';
import { storageProblem } from './storage-problem.ts';
import type { TransferPolicy } from './transfer-policy.ts';

/** Hosts remembered, so that each is told once. */
const MAX_HOSTS = 1000;

const LEAVES_HTTPS =
  'a redirect led there from https to http: the content would travel in the clear';

export interface UploadOptions {
  /** Sent exactly so: it is part of the signature. */
  readonly contentType: string;
  readonly signal: AbortSignal;
  /** What a storage needs besides, such as `x-ms-blob-type: BlockBlob` (Azure); beside, and before, the client's own. */
  readonly extraHeaders?: Readonly<Record<string, string>>;
}

export interface TransferOptions {
  readonly policy: TransferPolicy;
  readonly allowUrl: AllowUrl;
  readonly uploadHeaders: ExtraHeaders;
  readonly downloadHeaders: ExtraHeaders;
}

type TransferRequest = Omit<HttpRequest, 'url' | 'body' | 'onSent'> & {
  readonly source?: BodySource;
  /** For the origin that the service named, and no other. */
  readonly extra: Readonly<Record<string, string>>;
};
type Opened = { readonly answer: HttpAnswer; readonly address: string };

export class Transfer {
  readonly #context: ServiceContext;
  readonly #pool: HttpPool;
  readonly #options: TransferOptions;
  readonly #hosts = new Set<string>();
  readonly #uploads: Permits;
  readonly #downloads: Permits;
  readonly #limit: AdaptiveLimit;

  /** @param pool connects to nothing that the policy objects to */
  constructor(context: ServiceContext, pool: HttpPool, options: TransferOptions) {
    this.#context = context;
    this.#pool = pool;
    this.#options = options;
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
   * @throws ServiceError: `expired`, `too_large`, `rejected`, `not_found`, `unavailable`, `blocked`, `protocol`, with `mayHaveArrived`;
   * the signal's reason when aborted; what the source of a streamed body threw, and RangeError when it had another length than it said.
   */
  async upload(uploadUrl: string, body: UploadBody, options: UploadOptions): Promise<void> {
    const operation = 'upload';
    const url = addressOf(operation, uploadUrl);
    const source = new BodySource(body);
    const named = Object.entries(options.extraHeaders ?? {}).filter(
      ([name]) => problemWithExtraHeader(name) === undefined,
    );
    const { headersTimeoutMs, minUploadBytesPerSecond } = this.#context.settings;
    const request = {
      method: 'PUT',
      headers: { 'content-type': options.contentType, 'content-length': String(source.length) },
      source,
      extra: Object.fromEntries(named),
      // The pool's clock for headers starts with the first byte sent, so it has to cover the sending too.
      headersTimeoutMs:
        headersTimeoutMs + Math.ceil((source.length / minUploadBytesPerSecond) * 1000),
    } as const;
    let mayHaveArrived = false;
    await withRetry(this.#context, operation, options.signal, () =>
      this.#uploads.run(options.signal, async () => {
        try {
          const opened = await this.#follow(
            operation,
            request,
            this.#options.uploadHeaders,
            url,
            options.signal,
          );
          if ('value' in opened) opened.value.answer.discard();
          source.throwIfFailed();
          if ('value' in opened) return opened;
          mayHaveArrived ||= opened.problem.mayHaveArrived === true;
          const problem = { ...opened.problem, mayHaveArrived };
          return { ...opened, problem: source.repeatable ? problem : onlyOnce(problem) };
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
   * @throws ServiceError: as `upload`; `protocol` for a body that ends early or cannot be decompressed, `blocked` for one that is too
   * large, or in an encoding that nobody here knows; the signal's reason when aborted.
   */
  async *download(
    downloadUrl: string,
    options: { readonly signal: AbortSignal },
  ): AsyncGenerator<Buffer, void, void> {
    const operation = 'download';
    const { signal } = options;
    const url = addressOf(operation, downloadUrl);
    const release = await this.#downloads.acquire(signal);
    try {
      const startedMs = this.#context.clock.monotonic();
      const { answer, address } = await withRetry(this.#context, operation, signal, async () => {
        const request = { method: 'GET', headers: {}, extra: {} } as const;
        return await this.#follow(operation, request, this.#options.downloadHeaders, url, signal);
      });
      try {
        yield* this.#plain(answer);
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        const failure = error instanceof NetworkError ? error : networkError(error, 'body');
        if (!(failure instanceof NetworkError)) throw failure;
        if (failure.failure === 'body_timeout') this.#limit.overloaded(startedMs);
        this.#context.observer.request(
          operation,
          failure.failure,
          (this.#context.clock.monotonic() - startedMs) / 1000,
        );
        throw serviceError(operation, address, bodyProblem(failure, answer.status));
      }
    } finally {
      release();
    }
  }

  async *#plain(answer: HttpAnswer): AsyncGenerator<Buffer, void, void> {
    const {
      maxResultBytes: maxBytes,
      maxDecompressionRatio: maxRatio,
      ...settings
    } = this.#context.settings;
    const pace = {
      graceMs: settings.bodyTimeoutMs,
      bytesPerSecond: settings.minDownloadBytesPerSecond,
    };
    try {
      // What says that it is too large is not begun with.
      if (Number(answer.header('content-length') ?? 0) > maxBytes)
        throw new NetworkError('blocked', 'RESULT_TOO_LARGE');
      yield* plainBytes(answer.body, answer.header('content-encoding'), {
        maxBytes,
        maxRatio,
        pace,
      });
    } finally {
      if (!answer.body.destroyed) answer.discard();
    }
  }

  /** Why an address may not be talked to, continuing "upload at host/path was not called: …". */
  async #objection(
    operation: string,
    from: URL,
    url: URL,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { policy, allowUrl } = this.#options;
    const objection = leavesHttps(from, url) ? LEAVES_HTTPS : policy.objection(url);
    if (objection === undefined && (await abortable(Promise.resolve(allowUrl(url)), signal))) {
      if (!this.#hosts.has(url.host) && this.#hosts.size < MAX_HOSTS) {
        this.#hosts.add(url.host);
        this.#context.observer.transferHost(url.host);
      }
      return undefined;
    }
    this.#context.observer.request(operation, 'blocked', 0);
    return objection ?? 'it is not an allowed address for transfers';
  }

  /** @param configured headers whose values are asked for now */
  async #follow(
    operation: string,
    request: TransferRequest,
    configured: ExtraHeaders,
    first: URL,
    signal: AbortSignal,
  ): Promise<Attempt<Opened>> {
    const current = await currentHeaders(configured);
    if (typeof current === 'string')
      return { problem: withoutHeader(current), address: shownAddress(first) };
    const startedMs = this.#context.clock.monotonic();
    const extra = { ...current, ...request.extra };
    return this.#limit.learn(
      await this.#redirected(operation, { ...request, extra }, first, signal),
      startedMs,
    );
  }

  /** One attempt, through redirects: by hand, because the method and body must stay, and every new host must be allowed. */
  async #redirected(
    operation: string,
    { source, extra, headers, ...request }: TransferRequest,
    first: URL,
    signal: AbortSignal,
  ): Promise<Attempt<Opened>> {
    let from = first;
    let url = first;
    for (let redirects = 0; ; redirects++) {
      const address = shownAddress(url);
      const objection = await this.#objection(operation, from, url, signal);
      if (objection !== undefined)
        return { problem: blocked(`was not called: ${objection}`), address };
      if (source?.exhausted)
        return {
          problem: refused(
            'was not called: the body was sent to a redirect, and can be made only once',
          ),
          address,
        };
      let begun = false;
      const sent = {
        ...request,
        url,
        headers: url.origin === first.origin ? { ...headers, ...extra } : headers,
        ...(source === undefined ? {} : { body: source.open() }),
        onSent: () => {
          begun = true;
        },
      };
      const exchanged = await exchange(
        this.#context,
        this.#pool,
        operation,
        sent,
        signal,
        async (answer) => (isSuccess(answer) ? undefined : await errorText(answer)),
      );
      if ('problem' in exchanged)
        return { problem: { ...exchanged.problem, mayHaveArrived: begun }, address };
      const { answer, read: text } = exchanged;
      if (text === undefined) return { value: { answer, address } };
      if (!isRedirect(answer.status)) {
        // A gateway, or the storage itself, broke down over it; 503 and 501 are said before anything is stored. 303 is about what was done.
        const { status } = answer;
        const mayHaveArrived =
          (status >= 500 && status !== 501 && status !== 503) || status === 303;
        return {
          problem: { ...storageProblem(answer, text, this.#context.clock.now()), mayHaveArrived },
          address,
        };
      }

      const next =
        redirects < MAX_REDIRECTS
          ? redirectTarget(url, answer.header('location'))
          : `redirects more than ${MAX_REDIRECTS} times`;
      if (typeof next === 'string') return { problem: refused(next, answer.status), address };
      from = url;
      url = next;
    }
  }
}

function refused(what: string, status?: number): Problem {
  return { failure: 'protocol', what, reason: 'refused', status };
}

function blocked(what: string): Problem {
  return { failure: 'blocked', what, reason: 'blocked' };
}

/** It may be replaced at this moment: a file that is rotated is no reason to give records up. */
function withoutHeader(name: string): Problem {
  const what = `was not called: the value of the extra header "${name}" cannot be had, or not be sent`;
  const advice = 'check where service.transfer.uploadHeaders and downloadHeaders have it from';
  return { failure: 'unavailable', what, reason: 'no_header', advice };
}

function onlyOnce(problem: Problem): Problem {
  if (problem.failure !== 'unavailable') return problem;
  return {
    ...problem,
    final: true,
    advice: 'it was not tried again, because its body can be made only once: start over',
  };
}

function addressOf(operation: string, text: string): URL {
  const url = parseWebAddress(text);
  if (url !== undefined) return url;
  throw serviceError(
    operation,
    'a presigned address',
    refused('was not called: it is not an http(s) address'),
  );
}

function bodyProblem(error: NetworkError, status: number): Problem {
  if (error.failure === 'reset') {
    const what = `was cut: the file ended before its end (${error.code})`;
    return {
      failure: 'protocol',
      what,
      reason: 'reset',
      status,
      advice: 'download it again; what was read up to here is good',
    };
  }
  if (error.failure === 'blocked') return { ...networkProblem(error), status, sameAgain: true };
  if (error.failure !== 'bad_answer') return { ...networkProblem(error), status };
  const what = `sent a file that cannot be decoded (${error.code})`;
  const advice = 'check how the storage compresses its files';
  return { failure: 'protocol', what, reason: 'bad_answer', status, advice, sameAgain: true };
}
