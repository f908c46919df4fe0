/** Keys that callers may use. They may change while running; the change does not outlive the process. */
import type { IncomingMessage } from 'node:http';
import { apiRefusal } from './answer.ts';

export class ApiKeys {
  #accepted: ReadonlySet<string>;

  constructor(keys: readonly string[]) {
    this.#accepted = new Set(keys);
  }

  /** Accepts these keys from now on, and no others. */
  replace(keys: readonly string[]): void {
    this.#accepted = new Set(keys);
  }

  /** @throws RefusedRequest with 401 unless the request carries one of the keys. */
  check({ headers }: IncomingMessage): void {
    const [, key] = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '') ?? [];
    if (key !== undefined && this.#accepted.has(key)) return;
    const message =
      key === undefined
        ? 'send the header Authorization: Bearer <API_KEY>'
        : 'the API key is not valid';
    throw apiRefusal(401, 'unauthorized', message, { 'www-authenticate': 'Bearer' });
  }
}
