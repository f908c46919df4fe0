/** Opens the connections that the doctor and the creation of topics need, and closes them. */
import { abortable } from '../../../packages/client/src/base/abortable.ts';
import { systemClock } from '../../../packages/client/src/base/system-clock.ts';
import type { Config, PipelineConfig } from '../../config/schema.ts';
import type { ConnectOptions } from '../../kafka/index.ts';
import type { DoctorParts } from '../../tools/doctor/check.ts';
import { checksOf } from '../../tools/doctor/checks.ts';
import {
  type CreateTopicsOptions,
  createTopics,
  type TopicReport,
} from '../../tools/doctor/create-topics.ts';
import { type CheckReport, runChecks } from '../../tools/doctor/run-checks.ts';
import { kafkaConnection } from '../clients/kafka-connection.ts';
import { toolService } from '../clients/service.ts';
import { eventFormat } from '../formats/all-formats.ts';
import { kindOf } from '../kinds.ts';
import { enginePipeline } from '../pipeline-options.ts';
import { requestUnknown } from '../service-probe.ts';
import { registryChecks } from './doctor-registry.ts';
import { inspectedPipeline } from './inspect.ts';
import { inventedService } from './sample.ts';
import { SILENT_LOGGER, withClients } from './tool-clients.ts';

interface DoctorOptions {
  /** Pipelines to check. */
  readonly pipelines: readonly PipelineConfig[];
  readonly signal: AbortSignal;
}

/**
 * @param report called with each result in order
 * @throws the reason of the signal
 */
export function runDoctor(
  config: Config,
  options: DoctorOptions,
  report: (result: CheckReport) => void,
): Promise<readonly CheckReport[]> {
  return withParts(config, options, (parts) =>
    runChecks(checksOf(parts), parts.clock, options.signal, report),
  );
}

/** @throws InspectError; the reason of the signal */
export function runCreateTopics(
  config: Config,
  chosen: DoctorOptions,
  options: CreateTopicsOptions,
): Promise<readonly TopicReport[]> {
  return withParts(config, chosen, ({ pipelines, kafka }) =>
    abortable(createTopics(pipelines, kafka, options), chosen.signal),
  );
}

function withParts<T>(
  config: Config,
  { pipelines, signal }: DoctorOptions,
  work: (parts: DoctorParts) => Promise<T>,
): Promise<T> {
  const connect: ConnectOptions = {
    // With the connector's rights, but apart from its quotas at the brokers.
    ...kafkaConnection(config, 'connector', { logger: SILENT_LOGGER }),
    clientId: `${config.kafka.clientId}-doctor`,
  };
  return withClients(
    config,
    connect,
    () => {},
    async ({ kafka, scan, registry }) => {
      const inspector = kafka.inspector();
      const { origin, pathname } = new URL(config.service.baseUrl);
      const parts: DoctorParts = {
        clock: systemClock,
        kafka: {
          inspector,
          addresses: config.kafka.brokers,
          login: () => loginOf(config, connect),
        },
        service: {
          address: origin + pathname.replace(/\/+$/, ''),
          async ask(kind, signal) {
            const client = toolService(config);
            await requestUnknown(client, kind, signal).finally(() => client.close());
          },
        },
        pipelines: pipelines.map((pipeline) => ({
          name: pipeline.name,
          engine: enginePipeline(config, pipeline),
          inspection: {
            pipeline: inspectedPipeline(config, pipeline),
            scan,
            admin: kafka.admin,
            clock: systemClock,
            signal,
            notice: () => {},
            remoteBatch: undefined,
          },
          decoder: kindOf(
            pipeline,
            inventedService(() => ''),
            SILENT_LOGGER,
            (name) => eventFormat(name, registry),
          ),
          registryChecks: registry
            ? registryChecks(pipeline, registry, () =>
                eventFormat(pipeline.source.format, registry),
              )
            : [],
        })),
      };
      return await work(parts).finally(() => inspector.close());
    },
  );
}

function loginOf({ kafka: { tls, sasl } }: Config, { security }: ConnectOptions): string {
  const encryption = tls.enabled ? 'TLS' : 'plain connections';
  const login = sasl.mechanism === 'none' ? 'no login' : sasl.mechanism;
  return `${encryption}, ${login}, as ${security?.principal ?? 'User:ANONYMOUS'}`;
}
