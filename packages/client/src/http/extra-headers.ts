/** Additional headers that a storage requires (Azure: `x-ms-blob-type: BlockBlob`). Values may be secret. */
import { err, ok, type Result } from '../base/result.ts';

/** A value, or its source for each request. */
export type ExtraHeaders = Readonly<Record<string, string | (() => string | Promise<string>)>>;

/** Made from the request itself, meant for one connection, or never to be shown to a storage. */
const RESERVED =
  /^(authorization|proxy-.*|cookie|host|connection|keep-alive|te|trailer|upgrade|expect|transfer-encoding|content-(length|type|encoding|range)|range)$/i;

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** RFC 9110, section 5.5. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Returns why a name is no valid extra header; undefined when it is one. */
export function problemWithExtraHeader(name: string): string | undefined {
  if (!NAME.test(name)) return 'not the name of a header';
  if (!RESERVED.test(name)) return undefined;
  return 'reserved header: it follows from the request, or is not allowed for a storage';
}

/** @throws TypeError that names the header */
export function checkedHeaders(headers: ExtraHeaders): ExtraHeaders {
  for (const [name, value] of Object.entries(headers)) {
    const isUnfit = typeof value === 'string' && !VALUE.test(value);
    const unfit = isUnfit ? 'its value has characters that no header can carry' : undefined;
    const problem = problemWithExtraHeader(name) ?? unfit;
    if (problem !== undefined) throw new TypeError(`the extra header "${name}": ${problem}`);
  }
  return headers;
}

/** The headers with their current values; or the name of one without a valid value. */
export async function currentHeaders(
  headers: ExtraHeaders,
): Promise<Result<Record<string, string>>> {
  const current: Record<string, string> = {};
  for (const [name, source] of Object.entries(headers)) {
    try {
      const value = typeof source === 'string' ? source : await source();
      if (!VALUE.test(value)) return err(name);
      current[name] = value;
    } catch {
      return err(name);
    }
  }
  return ok(current);
}
