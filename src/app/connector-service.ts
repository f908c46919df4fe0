/** A service as the running connector uses it: its client, its readiness, and its part of the memory. */
import { systemClock } from '../../packages/client/src/base/clock.ts';
import type { ContentReviewClient } from '../../packages/client/src/client.ts';
import { formatPath } from '../config/load/problem.ts';
import type { Config } from '../config/schema.ts';
import { type ServiceConfig, servicePath, servicesOf } from '../config/services.ts';
import type { Logger } from '../core/ports/telemetry.ts';
import { MemoryBudget } from '../pipeline/limits/memory-budget.ts';
import type { Health } from '../telemetry/health.ts';
import type { PromMetrics } from '../telemetry/metrics.ts';
import { serviceClient, toolService } from './service-client.ts';
import { requestUnknown, ServiceProbe } from './service-probe.ts';

interface Outlets {
  readonly metrics: PromMetrics;
  readonly health: Health;
  readonly logger: Logger;
}

export interface ConnectorService {
  readonly client: ContentReviewClient;
  readonly probe: ServiceProbe;
  readonly budget: MemoryBudget;
  close(): Promise<void>;
}

/** Returns the services by name. @throws as `serviceClient` */
export function connectorServices(
  config: Config,
  outlets: Outlets,
): ReadonlyMap<string, ConnectorService> {
  let other: MemoryBudget | undefined;
  return new Map(
    [...servicesOf(config).keys()].map((name) => {
      const budget = new MemoryBudget(config.memory.budgetBytes, other);
      other = budget;
      return [name, { ...connectorService(config, name, outlets), budget }];
    }),
  );
}

function connectorService(config: Config, name: string, { metrics, health, ...outlets }: Outlets) {
  const service = servicesOf(config).get(name) as ServiceConfig;
  const logger = outlets.logger.child({ service: name });
  // Has its own client: probes must not wait for connections, and need short timeouts.
  const prober = toolService(service);
  const user = config.pipelines.find((pipeline) => pipeline.service === name);
  const probe = new ServiceProbe({
    probe: (signal) => requestUnknown(prober, user?.kind ?? 'review', signal),
    service: name,
    health,
    logger,
    clock: systemClock,
  });
  const hosts = `${formatPath(servicePath(name))}.transfer.hosts`;
  const client = serviceClient(service, {
    observer: {
      request: (operation, code, seconds) => {
        metrics.count('http_requests_total', { service: name, operation, code });
        const labels = { service: name, operation };
        metrics.observe('http_request_duration_seconds', labels, seconds);
        probe.called(operation, code);
      },
      retry: (operation, reason) =>
        metrics.count('http_retries_total', { service: name, operation, reason }),
      transferHost: (host) => {
        if (service.transfer.hosts.length === 0)
          logger.info({ host }, `first transfer to this host: ${hosts} can limit it`);
      },
      orphanPossible: () => metrics.count('orphaned_jobs_total', { service: name }),
    },
  });
  const close = async () => {
    probe.close();
    await Promise.all([client.close(), prober.close()]);
  };
  return { client, probe, close };
}
