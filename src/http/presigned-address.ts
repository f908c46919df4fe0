/** Addresses that came from the outside. Parsed without `new URL`, whose error holds the address (I6). */

export function isWebAddress(url: URL): boolean {
  return url.protocol === 'https:' || url.protocol === 'http:';
}

/** undefined unless the text is an absolute http(s) address. */
export function parseWebAddress(text: string): URL | undefined {
  const url = URL.parse(text);
  return url !== null && isWebAddress(url) ? url : undefined;
}
