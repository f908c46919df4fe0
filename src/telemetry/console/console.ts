/**
 * Console: the operator's page. GET only, without cookies and resources of other origins; no
 * response holds content, keys or signed addresses (I6).
 */

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { isForeignScript } from '../health/host-guard.ts';
import type { PageRequest, PageResponse, Pages } from '../health/http-server.ts';
import { type ConsoleSources, consoleState } from './state.ts';

const PROTECTION: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
};

const STATE = '/api/state';

export class Console implements Pages {
  readonly #assets = loadAssets();
  readonly #sources: ConsoleSources;

  constructor(sources: ConsoleSources) {
    this.#sources = sources;
  }

  async answer(request: PageRequest): Promise<PageResponse | undefined> {
    const { path, query, headers } = request;
    const asset = this.#assets.get(path);
    if (asset === undefined && path !== STATE) return undefined;
    if (asset === undefined && isForeignScript(headers)) {
      const reason = 'scripts of other sites may not read the state';
      return respond({ status: 'refused', reason }, 403);
    }
    if (asset !== undefined) return { ...respond('', 200, asset.type), body: asset.body };
    const parameters = new URLSearchParams(query);
    const pipeline = parameters.get('pipeline') ?? undefined;
    const heldReading = parameters.get('group') ?? undefined;
    const state = await consoleState(this.#sources, pipeline, heldReading);
    return respond(state, 200);
  }
}

const respond = (body: unknown, status: number, type = 'application/json'): PageResponse => ({
  status,
  headers: { ...PROTECTION, 'content-type': type, 'cache-control': 'no-store' },
  body: JSON.stringify(body),
});

const PAGE = new URL('./page/', import.meta.url);

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml; charset=utf-8',
};

interface Asset {
  readonly type: string;
  readonly body: Buffer;
}

/** Reads all files. @returns them by their path on the server */
export function loadAssets(): ReadonlyMap<string, Asset> {
  return new Map(
    readdirSync(PAGE).map((file) => {
      const body = readFileSync(new URL(file, PAGE));
      const type = TYPES[path.extname(file)] ?? 'application/octet-stream';
      return [file === 'index.html' ? '/' : `/console/${file}`, { type, body }];
    }),
  );
}
