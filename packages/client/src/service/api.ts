/** Calls to baseUrl: API key, exchange, interpretation of the response, retries. */
import { constants } from 'node:os';
import { abortable } from '../base/abortable.ts';
import { tryParseJson } from '../base/json/parse-json.ts';
import { err, ok } from '../base/result.ts';
import type { ServiceError } from '../base/service-error.ts';
import type { HttpPool } from '../http/http.ts';
import { shownAddress } from '../http/redaction.ts';
import { isPathSegment, NO_PATH_SEGMENT, ProtocolViolation } from './answers.ts';
import { CONTENT_TYPES } from './contract.ts';
import { apiProblem, type ServiceAttempt, serviceError } from './error-classification.ts';
import type { CallOptions, ServiceContext } from './options.ts';
import { errorText, exchange, isSuccess, withRetry } from './request.ts';

/** Maximum nesting of a response. Metadata of content events has at most 64 levels. */
const MAX_LEVELS = 100;
/**
 * Failure reasons that show whether a create had an effect: a response of the service itself, or a
 * proxy that did not forward the request. If a gateway lost the response, the effect is unknown.
 */
const CLEAR_REASON = /^(proxy_failed|(?!502|504)\d+)$/;

/** Converts the JSON of a successful response, whose body is `text`. @throws ProtocolViolation */
type AnswerReader<T> = (json: unknown, text: string) => T;

/** Options of a call, whose signal also aborts when the client is closed. */
type CallSettings = CallOptions & { readonly signal: AbortSignal };

interface ApiCall<T> {
  /** Metric label, and first word of error messages, such as `create_batch`. */
  readonly operation: string;
  /** Path below baseUrl, with its ids escaped. */
  readonly path: string;
  /** The path with `{id}` instead of an id. */
  readonly template: () => string;
  readonly read: AnswerReader<T>;
  /** Present for a create, with its body if it has one. Each retry creates another resource. */
  readonly create?: { readonly body?: object };
}

export class Api {
  readonly #context: ServiceContext;
  readonly #pool: HttpPool;
  readonly #baseUrl: string;
  readonly #apiKey: () => Promise<string>;

  /** @param baseUrl see checkedBaseUrl */
  constructor(
    context: ServiceContext,
    pool: HttpPool,
    baseUrl: URL,
    apiKey: () => Promise<string>,
  ) {
    this.#context = context;
    this.#pool = pool;
    this.#baseUrl = baseUrl.origin + baseUrl.pathname.replace(/\/+$/, '');
    this.#apiKey = apiKey;
  }

  /**
   * Creates a resource. As there is no idempotency key, a create with an unknown outcome is
   * retried. A resource without an upload costs nothing, and is reported as `orphanPossible`.
   * @throws ServiceError, or the signal's reason
   */
  create<T>(
    resource: 'batch' | 'import',
    path: string,
    read: AnswerReader<T>,
    settings: CallSettings,
    body?: object,
  ): Promise<T> {
    const create = body === undefined ? {} : { body };
    const template = () => path;
    return this.#call({ operation: `create_${resource}`, path, template, read, create }, settings);
  }

  /**
   * Retrieves a resource.
   * @throws ServiceError (`not_found` for 404 and 410), or the signal's reason
   */
  async get<T>(
    resource: 'batch' | 'import' | 'decision',
    id: string,
    pathOf: (id: string) => string,
    read: (json: unknown, id: string, text: string) => T,
    settings: CallSettings,
  ): Promise<T> {
    const operation = `get_${resource}`;
    if (!isPathSegment(id)) {
      const what = `was not called: the ${resource} id ${NO_PATH_SEGMENT}`;
      const address = shownAddress(new URL(this.#baseUrl));
      throw serviceError(operation, { failure: 'rejected', what, reason: 'bad_id', address });
    }
    const readWithId: AnswerReader<T> = (json, text) => read(json, id, text);
    const template = () => decodeURI(pathOf('{id}')).split('?')[0] ?? '';
    return await this.#call({ operation, path: pathOf(id), template, read: readWithId }, settings);
  }

  #call<T>(call: ApiCall<T>, { signal, beforeRequest }: CallSettings): Promise<T> {
    const url = new URL(this.#baseUrl + call.path);
    return withRetry(this.#context, call.operation, signal, async (resends) => {
      await beforeRequest?.(signal);
      return await this.#attempt(call, url, resends, signal);
    });
  }

  async #attempt<T>(
    { operation, create, read, template }: ApiCall<T>,
    url: URL,
    resends: number,
    signal: AbortSignal,
  ): Promise<ServiceAttempt<T>> {
    const { observer, clock } = this.#context;
    const key = await this.#currentKey(operation, shownAddress(url), signal);
    let isSent = false;
    let isClear = false;
    const request = {
      operation,
      resends,
      template,
      method: create === undefined ? ('GET' as const) : ('POST' as const),
      url,
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': CONTENT_TYPES.api,
        accept: CONTENT_TYPES.api,
      },
      ...(create?.body && { body: Buffer.from(JSON.stringify(create.body)) }),
      onSent: () => {
        isSent = true;
      },
    };

    try {
      const result = await exchange(this.#context, this.#pool, request, signal, async (answer) => {
        if (isSuccess(answer)) return ok(parsed(await answer.text(), read));
        // For a create, the message is safe to show: no content has been sent that it could quote.
        const shown = create === undefined ? 'code' : 'message';
        return err(apiProblem(answer, await errorText(answer), shown, key, clock.now()));
      });
      isClear = result.ok || CLEAR_REASON.test(result.error.reason);
      return result;
    } finally {
      if (create !== undefined && isSent && !isClear) observer.orphanPossible?.();
    }
  }

  async #currentKey(operation: string, address: string, signal: AbortSignal): Promise<string> {
    const refused = (problem: string): ServiceError => {
      const what = `was not called: ${problem}`;
      return serviceError(operation, { failure: 'unauthorized', what, reason: 'no_key', address });
    };
    let key: string;
    try {
      key = await abortable(this.#apiKey(), signal);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw refused(`the API key could not be read${systemErrorCode(error)}`);
    }
    if (key === '') throw refused('the API key is empty');
    if (!/^[\x21-\x7e]+$/.test(key)) {
      throw refused(
        'the API key has characters that are not allowed in a header (possibly a line break)',
      );
    }
    return key;
  }
}

/** Returns a suffix such as ` (ENOENT)`. Shows only system error codes, because other text could be part of the key. */
function systemErrorCode(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return Object.hasOwn(constants.errno, code) ? ` (${code})` : '';
}

/** @throws ProtocolViolation */
function parsed<T>(text: string, read: AnswerReader<T>): T {
  const json = tryParseJson(text, MAX_LEVELS);
  if (json === undefined) {
    const hasMark = text.startsWith('\ufeff');
    throw new ProtocolViolation(
      hasMark
        ? 'the body begins with a byte order mark, which JSON does not allow'
        : 'the body is not JSON, or exceeds the limits of depth and size',
    );
  }
  return read(json, text);
}
