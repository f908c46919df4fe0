/** HTTP without a proxy, as tests of what goes over it need it. */

import { HttpPool } from '../../packages/client/src/http/http.ts';
import type { HttpExchange } from '../../src/core/ports/http.ts';

export function directHttp(timeoutMs = 5_000): HttpExchange {
  const timeouts = {
    connectTimeoutMs: timeoutMs,
    headersTimeoutMs: timeoutMs,
    bodyTimeoutMs: timeoutMs,
  };
  return new HttpPool(timeouts, 8, {
    proxyFor: () => undefined,
    tls: undefined,
    proxyTls: undefined,
  });
}
