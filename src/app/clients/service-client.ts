/** The service's client by what a configuration says of the service and of the way there. */
import type { Config } from '../../config/schema.ts';
import { proxyRules } from '../../http/proxy.ts';
import { ServiceClient } from '../../service/client.ts';
import type { ServiceClientOptions } from '../../service/options.ts';
import { systemClock, systemRandom } from '../system.ts';
import { networkSettings } from './service-network.ts';

/**
 * @param own how patient it is, how much it does at once, and who hears of it
 * @throws TypeError for what only shows here: a certificate that is broken, a proxy of the environment that is none.
 */
export function serviceClient(
  service: Config['service'],
  own: Partial<ServiceClientOptions>,
): ServiceClient {
  const { proxy, ...network } = networkSettings(service);
  return new ServiceClient({
    ...network,
    proxy: proxyRules(proxy, process.env),
    baseUrl: service.baseUrl,
    apiKey: () => service.apiKey.current(),
    clock: systemClock,
    random: systemRandom,
    importPath: service.importPath,
    ...own,
  });
}
