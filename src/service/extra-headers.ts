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
  for (const name of Object.keys(headers)) {
    const problem = problemWithExtraHeader(name);
    if (problem !== undefined) throw new TypeError(`the extra header "${name}": ${problem}`);
  }
  return headers;
}

/** The headers with their values of now. @throws what a value's source throws */
export async function currentHeaders(headers: ExtraHeaders): Promise<Record<string, string>> {
  const values = Object.entries(headers).map(
    async ([name, value]) => [name, typeof value === 'string' ? value : await value()] as const,
  );
  return Object.fromEntries(await Promise.all(values));
}
