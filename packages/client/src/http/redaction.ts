/** Redaction of addresses and external text. */

/** Minimum length of a part of a secret to mask. Shorter parts would match ordinary words. */
const SHORTEST_SHARE = 6;
const MASK = '[redacted]';
const MAX_LENGTH = 200;

/** Returns the host and path of an address, without user, query and fragment. */
export function shownAddress(url: URL): string {
  return `${url.host}${truncate(url.pathname)}`;
}

/**
 * Returns text from the service as one line of at most 200 characters. Masks every part of a secret
 * (six characters in a row, in any case), bearer credentials, and the queries of addresses.
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

/** Folds only ASCII letters, because full case folding changes lengths and positions. */
function foldCase(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

function truncate(text: string): string {
  return text.length <= MAX_LENGTH ? text : `${text.slice(0, MAX_LENGTH - 1)}…`;
}
