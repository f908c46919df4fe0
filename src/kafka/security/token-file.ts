/** Tokens from a file that another program replaces, such as a projected service-account token of Kubernetes. */
import { usableToken } from './jwt.ts';
import type { TokenOrigin } from './options.ts';

const OPTION = 'kafka.sasl.oauth.token';

/** @param current returns the current content of the file */
export function fileTokens(current: () => Promise<string>): TokenOrigin {
  return {
    // Each login reads the file, so that a replaced token is used before the old one expires.
    request: async () => ({ value: usableToken(await current(), OPTION), lifetimeMs: 0 }),
    remedy: `check the issuer and audience of the token in ${OPTION}, and kafka.sasl.oauth.extensions`,
    principal: 'User:<subject of the token>',
  };
}
