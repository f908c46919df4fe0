/** Client, readiness and memory budget of a service in the running connector. */
import { systemClock } from '../../packages/client/src/base/clock.ts';
import type { ContentReviewClient } from '../../packages/client/src/client.ts';
import type { Config } from '../config/schema.ts';
import { serviceOption, servicesOf } from '../config/services.ts';
import type { Logger } from '../core/ports/telemetry.ts';
import { conditionOf } from '../core/service-names.ts';
import { MemoryBudget } from '../pipeline/limits/memory-budget.ts';
import type { Health } from '../telemetry/health.ts';
import type { PromMetrics } from '../telemetry/metrics.ts';
import { serviceClient, toolService } from './service-client.ts';
import { requestUnknown, ServiceProbe } from './service-probe.ts';

export interface ConnectorService {
  readonly client: ContentReviewClient;
  readonly probe: ServiceProbe;
  readonly budget: MemoryBudget;
  close(): Promise<void>;
}

/** Returns the services by name. @throws the errors of `serviceClient` */
export function connectorServices(
  config: Config,
  metrics: PromMetrics,
  health: Health,
  processLogger: Logger,
): ReadonlyMap<string, ConnectorService> {
  let budget: MemoryBudget | undefined;
  const entries = Array.from(servicesOf(config), ([name, service]) => {
    budget = new MemoryBudget(config.memory.budgetBytes, budget);
    const logger = processLogger.child({ service: name });
    // Uses a separate client: probes must not wait for connections, and need short timeouts.
    const prober = toolService(service);
    const { kind = 'review' } = config.pipelines.find((one) => one.service === name) ?? {};
    const probe = new ServiceProbe({
      probe: (signal) => requestUnknown(prober, kind, signal),
      health: {
        ready: (condition) => health.ready(conditionOf(condition, name)),
        notReady: (condition, reason) => health.notReady(conditionOf(condition, name), reason),
      },
      logger,
      clock: systemClock,
    });
    const client = serviceClient(service, {
      observer: {
        request: (operation, code, seconds) => {
          const labels = { service: name, operation };
          metrics.count('http_requests_total', { ...labels, code });
          metrics.observe('http_request_duration_seconds', labels, seconds);
          probe.called(operation, code);
        },
        retry: (operation, reason) =>
          metrics.count('http_retries_total', { service: name, operation, reason }),
        transferHost: (host) => {
          const option = `${serviceOption(name)}.transfer.hosts`;
          if (service.transfer.hosts.length === 0)
            logger.info({ host }, `first transfer to this host: ${option} can restrict the hosts`);
        },
        orphanPossible: () => metrics.count('orphaned_jobs_total', {}),
      },
    });
    const close = async () => {
      probe.close();
      await Promise.all([client.close(), prober.close()]);
    };
    return [name, { client, probe, budget, close }] as const;
  });
  return new Map(entries);
}
