import { readFileSync } from 'node:fs';

/** The connector's version, as package.json (beside src and dist alike) has it. */
export const VERSION: string = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
).version;

/** The User-Agent of every request. Firewalls of applications refuse requests without one. */
export const USER_AGENT = `content-review-connector/${VERSION}`;
