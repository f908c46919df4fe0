/** Headers that a storage wants besides (Azure: `x-ms-blob-type: BlockBlob`). Their values may be secrets (I6). */

/** A value, or where to get it for each request. */
export type ExtraHeaders = Readonly<Record<string, string | (() => string | Promise<string>)>>;

/** Made from the request itself, meant for one connection, or never to be shown to a storage. */
const RESERVED =
  /^(authorization|proxy-.*|cookie|host|connection|keep-alive|te|trailer|upgrade|expect|transfer-encoding|content-(length|type|encoding|range)|range)$/i;

/** Why a header cannot be one of these; undefined when it can. */
export function problemWithExtraHeader(name: string): string | undefined {
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) return 'not the name of a header';
  return RESERVED.test(name)
    ? 'this header is not free to be set: it follows from the request, or is not for a storage'
    : undefined;
}

/** @throws TypeError that names the header: configurations are checked before. */
export function checkedHeaders(headers: ExtraHeaders): ExtraHeaders {
  for (const [name, value] of Object.entries(headers)) {
    const unfit =
      typeof value === 'string' && !isValue(value)
        ? 'its value holds characters that no header can carry'
        : undefined;
    const problem = problemWithExtraHeader(name) ?? unfit;
    if (problem !== undefined) throw new TypeError(`the extra header "${name}": ${problem}`);
  }
  return headers;
}

/** The headers with their values of now; or the name of one whose value cannot be had, or not be sent. */
export async function currentHeaders(
  headers: ExtraHeaders,
): Promise<Record<string, string> | string> {
  const current: Record<string, string> = {};
  for (const [name, source] of Object.entries(headers)) {
    try {
      const value = typeof source === 'string' ? source : await source();
      if (!isValue(value)) return name;
      current[name] = value;
    } catch {
      return name;
    }
  }
  return current;
}

/** RFC 9110, section 5.5. */
function isValue(text: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(text);
}
