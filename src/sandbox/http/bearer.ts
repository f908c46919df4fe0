/** Bearer keys of the API (service-interface.md 5). */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { apiError, Refusal } from './answer.ts';

export type Authorize = (request: IncomingMessage) => void;

/** The keys in force. They may be changed while running, as a rotation does; the change does not outlive the process. */
export class ApiKeys {
  #accepted: readonly Buffer[];

  constructor(keys: readonly string[]) {
    this.#accepted = keys.map(digest);
  }

  /** From now on these keys are good, and no others. */
  replace(keys: readonly string[]): void {
    this.#accepted = keys.map(digest);
  }

  accepts(key: string): boolean {
    const given = digest(key);
    return this.#accepted.some((known) => timingSafeEqual(known, given));
  }
}

/** The check throws Refusal with 401 unless the request carries one of the keys. */
export function bearerAuth(apiKeys: ApiKeys): Authorize {
  return ({ headers }) => {
    const [, key] = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '') ?? [];
    if (key === undefined) throw unauthorized('send the header Authorization: Bearer <API_KEY>');
    if (!apiKeys.accepts(key)) throw unauthorized('the API key is not valid');
  };
}

function unauthorized(message: string): Refusal {
  return new Refusal(apiError(401, 'unauthorized', message, { 'www-authenticate': 'Bearer' }));
}

/** Of one length, so that keys can be compared in constant time. */
function digest(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}
