/** The operator's page: GET only, no cookies, nothing from other origins, and no content, key or signed address in any answer (I6). */
import type { IncomingHttpHeaders } from 'node:http';
import { STEP_MS } from './activity.ts';
import { assetAt } from './assets.ts';
import { isForeignScript, refusal } from './host-guard.ts';
import { type Sources, stateOf } from './state.ts';

export interface ConsoleRequest {
  readonly path: string;
  /** Behind the question mark. */
  readonly query: string;
  readonly headers: IncomingHttpHeaders;
}

export interface ConsoleAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | string;
}

const PROTECTION: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
};

export class Console {
  readonly #sources: Sources;
  readonly #listenHost: string;
  readonly #timer: NodeJS.Timeout;

  /** Samples from now on, until `close`. @param listenHost `http.host` */
  constructor(sources: Sources, listenHost: string) {
    this.#sources = sources;
    this.#listenHost = listenHost;
    this.#timer = setInterval(() => sources.activity.sample(sources.now()), STEP_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** @returns undefined for a path that is not the console's */
  answer({ path, query, headers }: ConsoleRequest): ConsoleAnswer | undefined {
    const asset = assetAt(path);
    if (asset === undefined && path !== '/api/state') return undefined;
    const refused = refusal(this.#listenHost, headers);
    if (refused !== undefined) return json(403, { status: 'refused', reason: refused });
    if (asset === undefined) {
      if (isForeignScript(headers))
        return json(403, { status: 'refused', reason: 'scripts of other sites are not answered' });
      const asked = new URLSearchParams(query);
      const sinceMs = Number(asked.get('since') ?? 0);
      return json(
        200,
        stateOf(this.#sources, {
          pipeline: asked.get('pipeline') ?? undefined,
          sinceMs: Number.isFinite(sinceMs) ? sinceMs : 0,
        }),
      );
    }
    const caching = { etag: asset.etag, 'cache-control': 'no-cache' };
    if (headers['if-none-match'] === asset.etag)
      return { status: 304, headers: { ...PROTECTION, ...caching }, body: '' };
    return {
      status: 200,
      headers: { ...PROTECTION, ...caching, 'content-type': asset.type },
      body: asset.body,
    };
  }
}

const json = (status: number, body: object): ConsoleAnswer => ({
  status,
  headers: {
    ...PROTECTION,
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
  },
  body: JSON.stringify(body),
});
