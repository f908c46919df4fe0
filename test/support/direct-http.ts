/** HTTP pool that ignores the proxies of the environment. */

import { HttpPool } from '../../packages/client/src/http/http.ts';
import { NO_PROXY } from '../../packages/client/src/http/proxy.ts';

export function directHttp(timeoutMs = 5_000): HttpPool {
  const timeouts = {
    connectTimeoutMs: timeoutMs,
    headersTimeoutMs: timeoutMs,
    bodyTimeoutMs: timeoutMs,
  };
  return new HttpPool(timeouts, 8, {
    proxyFor: NO_PROXY,
    tls: undefined,
  });
}
