/** Client of the Content Review Service, and HTTP by the same proxy, from a configuration. */
import { systemClock, systemRandom } from '../../../packages/client/src/base/system-clock.ts';
import { HttpPool } from '../../../packages/client/src/http/http.ts';
import {
  type ServiceObserver,
  SILENT_OBSERVER,
} from '../../../packages/client/src/http/observer.ts';
import {
  type ProxySetting,
  proxyChooser,
  proxyRules,
} from '../../../packages/client/src/http/proxy.ts';
import { tlsContext } from '../../../packages/client/src/http/tls-files.ts';
import { ServiceClient } from '../../../packages/client/src/service/client.ts';
import type { ServiceClientOptions } from '../../../packages/client/src/service/options.ts';
import type { Config } from '../../config/schema.ts';
import type { Secret } from '../../config/secret.ts';
import type { HttpExchange } from '../../core/ports/http.ts';

type ServiceConfig = Config['service'];

/** Timeout of a tool's request: a person waits for it. */
const TOOL_TIMEOUT_MS = 5_000;

/** Settings of a client of the service: everything but its address and key. */
export function clientSettings({
  timeouts,
  retry,
  concurrency,
  traceHeaders,
  allowHttp,
  transfer,
  proxy,
  tls,
}: ServiceConfig) {
  const { hosts, allowPrivate, maxResultBytes, uploadHeaders, downloadHeaders } = transfer;
  return {
    connectTimeoutMs: timeouts.connectMs,
    headersTimeoutMs: timeouts.headersMs,
    bodyTimeoutMs: timeouts.bodyMs,
    retry: { maxRetries: retry.attempts - 1, baseMs: retry.baseMs, capMs: retry.capMs },
    maxConcurrentRequests: concurrency.requests,
    maxConcurrentTransfers: concurrency.transfers,
    traceHeaders,
    allowHttp,
    transferHosts: hosts,
    allowPrivate,
    maxResultBytes,
    uploadHeaders: currentValues(uploadHeaders),
    downloadHeaders: currentValues(downloadHeaders),
    proxy: proxySetting(proxy),
    tls,
  };
}

function proxySetting({ url, noProxy, credentials }: ServiceConfig['proxy']): ProxySetting {
  if (url === 'environment' || url === 'none') return url;
  return { url, noProxy, ...(credentials && { credentials: () => credentials.current() }) };
}

const currentValues = (headers: Readonly<Record<string, Secret>>) =>
  Object.fromEntries(
    Object.entries(headers).map(([name, secret]) => [name, () => secret.current()]),
  );

/** @throws TypeError for what only shows here: a broken certificate, an unusable proxy in the environment */
export function serviceClient(
  service: ServiceConfig,
  own: Partial<ServiceClientOptions>,
): ServiceClient {
  const { proxy, ...settings } = clientSettings(service);
  return new ServiceClient({
    ...settings,
    proxy: proxyRules(proxy, process.env),
    baseUrl: service.baseUrl,
    apiKey: () => service.apiKey.current(),
    clock: systemClock,
    random: systemRandom,
    importPath: service.importPath,
    ...own,
  });
}

/** Client for tools, with short timeouts. @throws as `serviceClient` */
export function toolService(
  { service }: Pick<Config, 'service'>,
  observer: Partial<ServiceObserver> = {},
): ServiceClient {
  const { connectMs, headersMs, bodyMs } = service.timeouts;
  return serviceClient(service, {
    connectTimeoutMs: Math.min(connectMs, TOOL_TIMEOUT_MS),
    headersTimeoutMs: Math.min(headersMs, TOOL_TIMEOUT_MS),
    bodyTimeoutMs: Math.min(bodyMs, TOOL_TIMEOUT_MS),
    retry: { maxRetries: 1, baseMs: 250, capMs: 1_000 },
    observer: { ...SILENT_OBSERVER, ...observer },
  });
}

interface OutboundOptions {
  /** PEM files of the only trusted authorities; if empty, Node's own authorities are trusted. */
  readonly ca: readonly string[];
  readonly timeoutMs: number;
  /** Maximum number of connections to one origin. */
  readonly connections: number;
}

/**
 * HTTP to the schema registry and to the token endpoint for Kafka, by the service's proxy.
 * @throws TypeError for an unusable proxy in the environment, or file; it states which
 */
export function outboundHttp(
  { service }: Pick<Config, 'service'>,
  { ca, timeoutMs, connections }: OutboundOptions,
  env: Readonly<Record<string, string | undefined>> = process.env,
): HttpExchange {
  const rules = proxyRules(proxySetting(service.proxy), env);
  // Broken files of the service must not stop a login to Kafka unless it needs them.
  const usesTlsProxy = [rules.https, rules.http].some(
    (server) => server?.url.protocol === 'https:',
  );
  const timeouts = {
    connectTimeoutMs: timeoutMs,
    headersTimeoutMs: timeoutMs,
    bodyTimeoutMs: timeoutMs,
  };
  return new HttpPool(timeouts, connections, {
    proxyFor: proxyChooser(rules),
    tls: tlsContext({ ca, withDefaults: false }),
    proxyTls: usesTlsProxy ? tlsContext({ ca: service.tls.ca }) : undefined,
  });
}
