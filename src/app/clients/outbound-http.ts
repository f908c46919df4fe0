/** The way out to the schema registry and to the endpoint of Kafka's tokens: by the proxies of the service. */
import type { Config } from '../../config/schema.ts';
import type { HttpExchange } from '../../core/ports/http.ts';
import { HttpPool } from '../../http/http.ts';
import { proxyChooser, proxyRules } from '../../http/proxy.ts';
import { tlsContext } from '../../http/tls-files.ts';
import { networkSettings } from './service-network.ts';

export interface OutboundOptions {
  /** PEM files of the only authorities that are trusted, read again when they change; empty: those that Node.js knows. */
  readonly ca: readonly string[];
  readonly timeoutMs: number;
  /** Connections to one origin. */
  readonly connections: number;
}

/** @throws TypeError for a proxy of the environment that is none, and a file that cannot be used; it says which. */
export function outboundHttp(
  { service }: Pick<Config, 'service'>,
  { ca, timeoutMs, connections }: OutboundOptions,
  env: Readonly<Record<string, string | undefined>> = process.env,
): HttpExchange {
  const { proxy, tls } = networkSettings(service);
  const rules = proxyRules(proxy, env);
  // Files of the service that nobody needs here must not stop a login to Kafka.
  const byTls = [rules.https, rules.http].some((server) => server?.url.protocol === 'https:');
  const timeouts = {
    connectTimeoutMs: timeoutMs,
    headersTimeoutMs: timeoutMs,
    bodyTimeoutMs: timeoutMs,
  };
  return new HttpPool(timeouts, connections, {
    proxyFor: proxyChooser(rules),
    tls: tlsContext({ ca, withDefaults: false }),
    proxyTls: byTls ? tlsContext({ ca: tls.ca ?? [] }) : undefined,
  });
}
