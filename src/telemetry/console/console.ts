/**
 * Console: the operator's page. Allows only GET, and uses no cookies and no resources from other
 * origins. No response contains content, keys or signed addresses (I6).
 */

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { escapeUnprintable } from '../../../packages/client/src/base/shown-text.ts';
import { isForeignScript } from '../host-guard.ts';
import type { PageResponse, Pages } from '../http-server.ts';
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

export function consolePages(sources: ConsoleSources): Pages {
  const assets = loadAssets();
  return async ({ path, query, headers }) => {
    const asset = assets.get(path);
    if (asset !== undefined) return respond(200, asset.type, asset.body);
    if (path !== STATE) return undefined;
    if (isForeignScript(headers)) {
      const reason = 'scripts of other sites may not read the state';
      return respond(403, 'application/json', JSON.stringify({ status: 'refused', reason }));
    }
    const pipeline = new URLSearchParams(query).get('pipeline') ?? undefined;
    const state = await consoleState(sources, pipeline);
    return respond(200, 'application/json', JSON.stringify(state, printable));
  };
}

const respond = (status: number, type: string, body: Buffer | string): PageResponse => ({
  status,
  headers: { ...PROTECTION, 'content-type': type, 'cache-control': 'no-store' },
  body,
});

/** Escapes unprintable characters, which texts from outside may contain. */
const printable = (_name: string, value: unknown): unknown =>
  typeof value === 'string' ? escapeUnprintable(value) : value;

const PAGE = new URL('./page/', import.meta.url);

/** Media types by extension. Files with other extensions are not served. */
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml; charset=utf-8',
};

/** Reads the page's files and the view library. @returns the files by their path on the server */
export function loadAssets() {
  const assets = new Map<string, { readonly type: string; readonly body: Buffer }>();
  const add = (name: string, file: URL) => {
    const type = TYPES[path.extname(name)];
    const at = name === 'index.html' ? '/' : `/console/${name}`;
    if (type !== undefined) assets.set(at, { type, body: readFileSync(file) });
  };
  for (const name of readdirSync(PAGE)) add(name, new URL(name, PAGE));
  add('preact.js', new URL(import.meta.resolve('preact')));
  return assets;
}
