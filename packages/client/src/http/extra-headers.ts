/** Additional headers that a storage may require (Azure: `x-ms-blob-type: BlockBlob`). Their values may be secret. */
import { err, ok, type Result } from '../base/result.ts';

/** Header values by name. A function is called for each request. */
export type ExtraHeaders = Readonly<Record<string, string | (() => string | Promise<string>)>>;

/** Names that may not be used: they follow from the request or the connection, or must not reach a storage. */
const RESERVED =
  /^(authorization|proxy-.*|cookie|host|connection|keep-alive|te|trailer|upgrade|expect|transfer-encoding|content-(length|type|encoding|range)|range)$/i;

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Characters allowed in a value: RFC 9110, section 5.5. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Returns why a name cannot be an extra header, or undefined if it can. */
export function problemWithExtraHeader(name: string): string | undefined {
  if (!NAME.test(name)) return 'not the name of a header';
  if (!RESERVED.test(name)) return undefined;
  return 'reserved header: it follows from the request, or is not allowed for a storage';
}

/** @throws TypeError whose message contains the name of the invalid header */
export function checkedHeaders(headers: ExtraHeaders): ExtraHeaders {
  for (const [name, value] of Object.entries(headers)) {
    const isUnfit = typeof value === 'string' && !VALUE.test(value);
    const unfit = isUnfit ? 'its value has characters that are not allowed in a header' : undefined;
    const problem = problemWithExtraHeader(name) ?? unfit;
    if (problem !== undefined) throw new TypeError(`the extra header "${name}": ${problem}`);
  }
  return headers;
}

/** Returns the headers with their current values, or the name of a header that has no valid value. */
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
