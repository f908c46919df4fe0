/** Bearer keys of the API (service-interface.md 5). */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { apiError, Refusal } from './answer.ts';

export type Authorize = (request: IncomingMessage) => void;

/** The check throws Refusal with 401 unless the request carries one of the keys. */
export function bearerAuth(apiKeys: readonly string[]): Authorize {
  const accepted = apiKeys.map(digest);
  return ({ headers }) => {
    const [, key] = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '') ?? [];
    if (key === undefined) throw unauthorized('send the header Authorization: Bearer <API_KEY>');
    const given = digest(key);
    if (!accepted.some((known) => timingSafeEqual(known, given))) throw unauthorized('the API key is not valid');
  };
}

function unauthorized(message: string): Refusal {
  return new Refusal(apiError(401, 'unauthorized', message, { 'www-authenticate': 'Bearer' }));
}

/** Of one length, so that keys can be compared in constant time. */
function digest(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}
