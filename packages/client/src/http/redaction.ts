/** Addresses and foreign text, made fit to be shown. */

/** Shorter shares of a secret are not recognised: any word of English would be one. */
const SHORTEST_SHARE = 6;
const MASK = '[redacted]';
const MAX_LENGTH = 200;

/** Host and path of an address: no user, no query, no fragment. */
export function shownAddress(url: URL): string {
  return `${url.host}${truncate(url.pathname)}`;
}

/**
 * Text of the service in one line of at most 200 characters, in which every share of a secret (six
 * characters in a row, in any case), bearer credentials and the queries of addresses are masked.
 */
export function scrub(text: string, secrets: readonly string[]): string {
  const hidden = secrets.reduce(maskShares, text.slice(0, 10 * MAX_LENGTH));
  const plain = hidden
    .replace(/\b(bearer|basic|authorization:?)\s+\S+/gi, `$1 ${MASK}`)
    .replace(/\?\S*=\S*/g, `?${MASK}`)
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .trim();
  return truncate(plain);
}

function maskShares(text: string, secret: string): string {
  if (secret.length === 0) return text;
  const length = Math.min(SHORTEST_SHARE, secret.length);
  const haystack = foldCase(text);
  const needle = foldCase(secret);
  const shares = new Set<string>();
  for (let from = 0; from + length <= needle.length; from++) {
    shares.add(needle.slice(from, from + length));
  }

  let masked = '';
  let hiddenTo = -1;
  for (let at = 0; at < text.length; at++) {
    if (shares.has(haystack.slice(at, at + length))) {
      if (at > hiddenTo) masked += MASK;
      hiddenTo = at + length;
    } else if (at >= hiddenTo) masked += text[at];
  }
  return masked;
}

/** Folds ASCII only: the full mapping changes lengths, and positions must stay. */
function foldCase(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

function truncate(text: string): string {
  return text.length <= MAX_LENGTH ? text : `${text.slice(0, MAX_LENGTH - 1)}…`;
}
