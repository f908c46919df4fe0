/** The service's client for tools: the way there is the connector's own, the patience a person's. */
import type { Config } from '../../config/schema.ts';
import { type ServiceObserver, SILENT_OBSERVER } from '../../http/observer.ts';
import type { ServiceClient } from '../../service/client.ts';
import { serviceClient } from '../clients/service-client.ts';

const TIMEOUT_MS = 5_000;

/** @throws as `serviceClient` */
export function toolService(
  { service }: Pick<Config, 'service'>,
  observer: Partial<ServiceObserver> = {},
): ServiceClient {
  const { connectMs, headersMs, bodyMs } = service.timeouts;
  return serviceClient(service, {
    connectTimeoutMs: Math.min(connectMs, TIMEOUT_MS),
    headersTimeoutMs: Math.min(headersMs, TIMEOUT_MS),
    bodyTimeoutMs: Math.min(bodyMs, TIMEOUT_MS),
    retry: { maxRetries: 1, baseMs: 250, capMs: 1_000 },
    observer: { ...SILENT_OBSERVER, ...observer },
  });
}
