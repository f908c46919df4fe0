/** The files of the page, as they are in page/: nothing is built when the connector runs. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** By the last part of a name. */
const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml; charset=utf-8',
};

/** Paths below the console's own, and the files that they give. */
export const ASSETS: Readonly<Record<string, string>> = {
  '/': 'index.html',
  ...Object.fromEntries(
    [
      'console.css',
      'icon.svg',
      'main.js',
      'attention.js',
      'chart.js',
      'command.js',
      'dom.js',
      'explain.js',
      'format.js',
      'history.js',
      'reasons.js',
      'sections.js',
    ].map((file) => [`/console/${file}`, file]),
  ),
};

export interface Asset {
  readonly type: string;
  readonly etag: string;
  readonly body: Buffer;
}

const loaded = new Map<string, Asset>();

/** undefined for a path that is none of the page's. */
export function assetAt(path: string): Asset | undefined {
  const file = Object.hasOwn(ASSETS, path) ? ASSETS[path] : undefined;
  if (file === undefined) return undefined;
  let asset = loaded.get(file);
  if (asset === undefined) {
    const body = readFileSync(new URL(`./page/${file}`, import.meta.url));
    const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
    asset = { type: TYPES[file.split('.').at(-1) ?? ''] ?? 'application/octet-stream', etag, body };
    loaded.set(file, asset);
  }
  return asset;
}
