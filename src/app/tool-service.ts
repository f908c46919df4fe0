/** The service's client for tools: the way there is the connector's own, the patience a person's. */
import type { Config } from '../config/schema.ts';
import { ServiceClient } from '../service/client.ts';
import { type ServiceObserver, SILENT_OBSERVER } from '../service/observer.ts';
import { proxyRules } from '../service/proxy.ts';
import { networkSettings } from './service-network.ts';
import { systemClock, systemRandom } from './system.ts';

const TIMEOUT_MS = 5_000;

/** @throws TypeError for what only shows here: a certificate that is broken, a proxy of the environment that is none. */
export function toolService({ service }: Pick<Config, 'service'>, observer: Partial<ServiceObserver> = {}): ServiceClient {
  const { proxy, ...network } = networkSettings(service);
  const { connectMs, headersMs, bodyMs } = service.timeouts;
  return new ServiceClient({
    ...network,
    proxy: proxyRules(proxy, process.env),
    baseUrl: service.baseUrl,
    apiKey: () => service.apiKey.current(),
    clock: systemClock,
    random: systemRandom,
    importPath: service.importPath,
    connectTimeoutMs: Math.min(connectMs, TIMEOUT_MS),
    headersTimeoutMs: Math.min(headersMs, TIMEOUT_MS),
    bodyTimeoutMs: Math.min(bodyMs, TIMEOUT_MS),
    retry: { maxRetries: 1, baseMs: 250, capMs: 1_000 },
    observer: { ...SILENT_OBSERVER, ...observer },
  });
}
