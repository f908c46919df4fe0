/** Search of the console: its login, one search at a time, and a time limit. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Logger } from '../../core/ports/telemetry.ts';
import { isLoopback } from '../health/host-guard.ts';
import type { PageRequest } from '../health/http-server.ts';

export interface SearchQuery {
  /** Optional if there is only one. */
  readonly pipeline: string | undefined;
  /** Place or event id of one record, instead of a search. */
  readonly record: string | undefined;
  readonly key: string | undefined;
  readonly where: string | undefined;
  readonly on: 'events' | 'decisions';
  readonly sinceMs: number;
  readonly limit: number;
}

/** Error of a search that its sender can correct. */
export class SearchFailed extends Error {
  override readonly name = 'SearchFailed';
}

/** Runs a search apart from the pipelines. @throws SearchFailed; the signal's reason, once it has ended */
export type RunSearch = (query: SearchQuery, signal: AbortSignal) => Promise<object>;

export interface SearchSettings {
  /** `http.search`. */
  readonly enabled: boolean;
  /** `http.host`. */
  readonly listenHost: string;
  /** Returns `http.password`; undefined: none is configured. */
  readonly password: (() => Promise<string>) | undefined;
  readonly logger: Pick<Logger, 'warn'>;
}

interface SearchAnswer {
  readonly status: number;
  readonly body: object;
}

const LIMIT_MS = 30_000;
/** Matches shown: each is explained from journal and outputs. */
const MAX_MATCHES = 10;
const HOUR_MS = 3_600_000;
const MAX_HOURS = 8_760;
/** Wrong passwords within a minute after which none is compared until its end. */
const MAX_WRONG = 10;
const MINUTE_MS = 60_000;

export class ConsoleSearch {
  /** `off`: for the reason that the documentation of http.search gives. */
  readonly access: 'open' | 'password' | 'off';
  readonly #password: SearchSettings['password'];
  readonly #logger: SearchSettings['logger'];
  #wrong = { count: 0, sinceMs: 0 };
  readonly #run: RunSearch;
  readonly #limitMs: number;
  #isBusy = false;

  constructor(
    { enabled, listenHost, password, logger }: SearchSettings,
    run: RunSearch,
    limitMs = LIMIT_MS,
  ) {
    const unlocked = isLoopback(listenHost) ? 'open' : 'off';
    this.access = enabled ? (password === undefined ? unlocked : 'password') : 'off';
    this.#password = password;
    this.#logger = logger;
    this.#run = run;
    this.#limitMs = limitMs;
  }

  async answer(
    { query, headers, signal }: Pick<PageRequest, 'query' | 'headers' | 'signal'>,
    nowMs: number,
  ): Promise<SearchAnswer> {
    if (this.access === 'off')
      return refused(
        403,
        'the search is off: it requires http.search, and http.password unless http.host is a loopback address',
      );
    const refusal =
      this.#password && this.#refusal(headers.authorization, await this.#password(), nowMs);
    if (refusal !== undefined) return refusal;
    const search = queryOf(new URLSearchParams(query), nowMs);
    if (typeof search === 'string') return refused(400, search);
    if (this.#isBusy)
      return refused(429, 'another search is running: repeat this one when it has ended');
    this.#isBusy = true;
    const late = AbortSignal.timeout(this.#limitMs);
    try {
      return { status: 200, body: await this.#run(search, AbortSignal.any([signal, late])) };
    } catch (error) {
      if (error instanceof SearchFailed) return refused(422, error.message);
      // The sender is gone: no one reads the answer.
      if (signal.aborted) return refused(499, 'the search was cancelled');
      if (!late.aborted) throw error;
      const seconds = this.#limitMs / 1_000;
      return refused(
        504,
        `no answer within ${seconds} s: shorten the time, or run the command, which has no limit`,
      );
    } finally {
      this.#isBusy = false;
    }
  }

  #refusal(
    authorization: string | undefined,
    password: string,
    nowMs: number,
  ): SearchAnswer | undefined {
    const ageMs = nowMs - this.#wrong.sinceMs;
    if (ageMs < 0 || ageMs >= MINUTE_MS) this.#wrong = { count: 0, sinceMs: nowMs };
    if (this.#wrong.count === MAX_WRONG)
      return refused(429, 'too many wrong passwords: repeat the search in a minute');
    if (isLogin(authorization, password)) return undefined;
    if (authorization !== undefined && ++this.#wrong.count === MAX_WRONG)
      this.#logger.warn(
        { wrong: MAX_WRONG },
        'console: too many wrong passwords within a minute: searches are refused until its end',
      );
    return refused(401, 'the password is wrong: it is http.password of the configuration');
  }
}

const refused = (status: number, reason: string): SearchAnswer => ({
  status,
  body: { status: 'refused', reason },
});

/** @returns the reason why it is no search, for its sender */
function queryOf(given: URLSearchParams, nowMs: number): SearchQuery | string {
  const text = (name: string) => given.get(name) || undefined;
  const [record, key, where] = [text('record'), text('key'), text('where')];
  const hours = Number(given.get('hours') ?? 24);
  if (!(hours > 0 && hours <= MAX_HOURS)) return `hours is a number from 1 to ${MAX_HOURS}`;
  if ((record === undefined) === (key === undefined && where === undefined))
    return 'a search has a record, or a key, an expression or both';
  return {
    pipeline: text('pipeline'),
    ...{ record, key, where },
    on: given.get('on') === 'decisions' ? 'decisions' : 'events',
    sinceMs: nowMs - hours * HOUR_MS,
    limit: MAX_MATCHES,
  };
}

/** Compares the password of HTTP Basic in constant time; the user name does not matter. */
function isLogin(authorization: string | undefined, password: string): boolean {
  const [, encoded = ''] = /^basic ([\w+/=-]+)$/i.exec(authorization ?? '') ?? [];
  const pair = Buffer.from(encoded, 'base64').toString();
  const colon = pair.indexOf(':');
  return colon >= 0 && timingSafeEqual(digest(pair.slice(colon + 1)), digest(password));
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
