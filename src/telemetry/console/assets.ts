/** Files of the page, served as they are in page/: there is no build step. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

const PAGE = new URL('./page/', import.meta.url);

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml; charset=utf-8',
};

export interface Asset {
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
