/** The way to the schema registry, from the configuration. */
import type { Config } from '../../config/schema.ts';
import type { HealthReporter, Metrics } from '../../core/ports/telemetry.ts';
import {
  ConfluentRegistry,
  type RegistryCredentials,
  type RegistryObserver,
} from '../../events/registry/index.ts';
import { systemClock, systemRandom } from '../system.ts';
import { outboundHttp } from './outbound-http.ts';

type Settings = Config['schemaRegistry'];

const CONDITION = 'schema registry';
const CONNECTIONS = 8;

/** While somebody waits for the registry the connector is not ready. */
export function registryObserver(metrics: Metrics, health: HealthReporter): RegistryObserver {
  return {
    request(operation, code, seconds) {
      metrics.count('schema_registry_requests_total', { operation, code });
      metrics.observe('schema_registry_request_duration_seconds', { operation }, seconds);
    },
    unavailable: (reason) => health.notReady(CONDITION, reason),
    available: () => health.ready(CONDITION),
  };
}

/** undefined when none is configured. */
export function schemaRegistry(
  config: Pick<Config, 'schemaRegistry' | 'service'>,
  observer?: RegistryObserver,
): ConfluentRegistry | undefined {
  const { schemaRegistry: settings } = config;
  const { ca, timeoutMs } = settings;
  if (settings.urls.length === 0) return undefined;
  return new ConfluentRegistry({
    urls: settings.urls,
    credentials: credentialsOf(settings),
    open: () => outboundHttp(config, { ca, timeoutMs, connections: CONNECTIONS }),
    timeoutMs,
    clock: systemClock,
    random: systemRandom,
    ...(observer === undefined ? {} : { observer }),
  });
}

function credentialsOf({ username = '', password, token }: Settings): RegistryCredentials {
  if (token !== undefined) return { kind: 'bearer', token: () => token.current() };
  if (password !== undefined)
    return { kind: 'basic', user: username, password: () => password.current() };
  return { kind: 'none' };
}
