/** What may be shown of addresses, codes and foreign text (I6). Everything the client says goes through here. */

/** Shares of a secret shorter than this are not recognised: any word of English would be one. */
const SHORTEST_SHARE = 6;
const MASK = '[redacted]';
const MAX_PATH = 200;
const MAX_TEXT = 200;

/** Host and path of an address: no user, no query, no fragment. */
export function shownAddress(url: URL): string {
  return `${url.host}${truncate(url.pathname, MAX_PATH)}`;
}

/**
 * Text of the service, fit to be shown: one line of at most 200 characters, in which every share of a secret (six
 * characters in a row, in any case), bearer credentials and the queries of addresses are masked.
 */
export function scrub(text: string, secrets: readonly string[]): string {
  const hidden = secrets.reduce(maskShares, text.slice(0, 10 * MAX_TEXT));
  const plain = hidden
    .replace(/\b(bearer|basic|authorization:?)\s+\S+/gi, `$1 ${MASK}`)
    .replace(/\?\S*=\S*/g, `?${MASK}`)
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .trim();
  return truncate(plain, MAX_TEXT);
}

function maskShares(text: string, secret: string): string {
  if (secret.length === 0) return text;
  const share = Math.min(SHORTEST_SHARE, secret.length);
  const haystack = foldCase(text);
  const needle = foldCase(secret);
  const covered = new Uint8Array(text.length);
  for (let from = 0; from + share <= needle.length; from++) {
    const part = needle.slice(from, from + share);
    for (let at = haystack.indexOf(part); at >= 0; at = haystack.indexOf(part, at + 1))
      covered.fill(1, at, at + share);
  }
  let out = '';
  for (let at = 0; at < text.length; at++) {
    if (covered[at] === 0) out += text[at];
    else if (covered[at - 1] !== 1) out += MASK;
  }
  return out;
}

/** Folds ASCII only: the full mapping changes lengths, and positions must keep their meaning. */
function foldCase(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

function truncate(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max - 1)}…`;
}
