/** The request pipeline of base_url: key, permit, exchange, meaning of the answer, retry. Resources are built on `call`. */
import { constants } from 'node:os';
import { abortable } from '../base/abortable.ts';
import { isDeeperThan } from '../base/json-depth.ts';
import type { ServiceError } from '../core/outcome/service-error.ts';
import type { HttpPool } from '../http/http.ts';
import { Permits } from '../http/permits.ts';
import { shownAddress } from '../http/redaction.ts';
import { AdaptiveLimit } from './adaptive-limit.ts';
import { apiProblem } from './api-problem.ts';
import { CONTENT_TYPES } from './contract.ts';
import { ProtocolViolation } from './contract-fields.ts';
import type { ServiceContext } from './options.ts';
import { type Attempt, serviceError } from './problem.ts';
import { errorText, exchange, isSuccess } from './request.ts';
import { withRetry } from './retry.ts';

/** Levels of an answer. Metadata of content events has 64 at most. */
const MAX_DEPTH = 100;

export interface ApiCall<T> {
  /** Label of metrics and first word of errors: `create_batch`. */
  readonly operation: string;
  readonly method: 'GET' | 'POST';
  /** Below base_url, with escaped ids. */
  readonly path: string;
  readonly body?: object;
  /** The call makes something new each time: an unclear outcome may leave one that is unknown here. No content was sent before it. */
  readonly creates?: boolean;
  /** Reads the JSON of a success; `text` is where it came from. @throws ProtocolViolation */
  readonly parse: (json: unknown, text: string) => T;
}

export class Api {
  readonly #context: ServiceContext;
  readonly #pool: HttpPool;
  readonly #baseUrl: string;
  readonly #apiKey: () => Promise<string>;
  readonly #permits: Permits;
  readonly #limit: AdaptiveLimit;

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
    const { maxConcurrentRequests: max, limitWindowMs: windowMs } = context.settings;
    const permits = new Permits(max);
    this.#permits = permits;
    this.#limit = new AdaptiveLimit({
      max,
      windowMs,
      clock: context.clock,
      onChange: (limit) => {
        permits.resize(limit);
        context.observer.limit('api', limit);
      },
    });
  }

  /** @throws ServiceError, or the signal's reason. */
  call<T>(call: ApiCall<T>, signal: AbortSignal): Promise<T> {
    const url = new URL(this.#baseUrl + call.path);
    return withRetry(this.#context, call.operation, signal, () =>
      this.#permits.run(signal, async () => {
        const startedMs = this.#context.clock.monotonic();
        return this.#limit.learn(await this.#attempt(call, url, signal), startedMs);
      }),
    );
  }

  async #attempt<T>(call: ApiCall<T>, url: URL, signal: AbortSignal): Promise<Attempt<T>> {
    const address = shownAddress(url);
    const key = await this.#currentKey(call.operation, address, signal);
    let sent = false;
    let clear = false;
    try {
      const exchanged = await exchange(
        this.#context,
        this.#pool,
        call.operation,
        {
          method: call.method,
          url,
          headers: {
            authorization: `Bearer ${key}`,
            'content-type': CONTENT_TYPES.api,
            accept: CONTENT_TYPES.api,
          },
          ...(call.body === undefined ? {} : { body: Buffer.from(JSON.stringify(call.body)) }),
          onSent: () => {
            sent = true;
          },
        },
        signal,
        async (answer) =>
          isSuccess(answer)
            ? ({ value: parsed(call, await answer.text()) } as const)
            : await errorText(answer),
      );
      if ('problem' in exchanged) {
        clear = exchanged.problem.reason === 'proxy_failed';
        return { problem: exchanged.problem, address };
      }

      const { answer, read } = exchanged;
      // A gateway that lost the service's answer says nothing about what the service did.
      clear = answer.status !== 502 && answer.status !== 504;
      if (typeof read !== 'string') return read;
      const said = call.creates === true ? 'message' : 'code';
      return {
        problem: apiProblem(answer, read, { said, secrets: [key] }, this.#context.clock.now()),
        address,
      };
    } finally {
      if (call.creates === true && sent && !clear) this.#context.observer.orphanPossible();
    }
  }

  async #currentKey(operation: string, address: string, signal: AbortSignal): Promise<string> {
    const refuse = (what: string): ServiceError =>
      serviceError(operation, address, {
        failure: 'unauthorized',
        what: `was not called: ${what}`,
        reason: 'no_key',
      });
    let key: string;
    try {
      key = await abortable(this.#apiKey(), signal);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw refuse(`the API key could not be read${systemErrorCode(error)}`);
    }
    if (key === '') throw refuse('the API key is empty');
    if (!/^[\x21-\x7e]+$/.test(key))
      throw refuse('the API key holds characters that no header can carry (a line end, perhaps)');
    return key;
  }
}

/** ` (ENOENT)` and its like; only names the system itself has, since anything else could be a piece of the key. */
function systemErrorCode(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && Object.hasOwn(constants.errno, code) ? ` (${code})` : '';
}

/** @throws ProtocolViolation */
function parsed<T>(call: ApiCall<T>, text: string): T {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new ProtocolViolation(
      text.startsWith('\ufeff')
        ? 'the body begins with a byte order mark, which JSON does not allow'
        : 'the body is not JSON',
    );
  }
  if (isDeeperThan(json, MAX_DEPTH))
    throw new ProtocolViolation(`the body is nested deeper than ${MAX_DEPTH} levels`);
  return call.parse(json, text);
}
