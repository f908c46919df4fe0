/** Opens the connections that the doctor and the creation of topics need, and closes them. */
import { totalmem } from 'node:os';
import { abortable } from '../../../packages/client/src/base/abortable.ts';
import { systemClock } from '../../../packages/client/src/base/system-clock.ts';
import type { EventFormatName } from '../../config/options/source.ts';
import type { Config, PipelineConfig } from '../../config/schema.ts';
import { type ConnectOptions, connectKafka } from '../../kafka/index.ts';
import { createLogger } from '../../telemetry/logging/logger.ts';
import type { DoctorParts, PipelineParts } from '../../tools/doctor/check.ts';
import { checksOf } from '../../tools/doctor/checks.ts';
import {
  type CreateTopicsOptions,
  createTopics,
  type TopicReport,
} from '../../tools/doctor/create-topics.ts';
import { type CheckReport, runChecks } from '../../tools/doctor/run-checks.ts';
import { kafkaConnection } from '../clients/kafka-connection.ts';
import { schemaRegistry } from '../clients/schema-registry.ts';
import { eventFormat } from '../formats/all-formats.ts';
import { kindOf } from '../kinds.ts';
import { enginePipeline, sourceLimits } from '../pipeline-options.ts';
import { registryChecks } from './doctor-registry.ts';
import { doctorService } from './doctor-service.ts';
import { inspectedPipeline, inspectFailure } from './inspect.ts';
import { inventedService } from './sample.ts';

/** Short, because a person waits. */
const KAFKA_CONNECT_MS = 3_000;
const CERTIFICATES: Readonly<Record<string, string>> = {
  client: "this client's certificate (kafka.tls.certificate)",
  ca: 'an authority in kafka.tls.ca',
  broker: "a broker's certificate",
};

interface DoctorOptions {
  /** Pipelines to check. */
  readonly pipelines: readonly PipelineConfig[];
  readonly roundTrip: DoctorParts['roundTrip'];
  readonly signal: AbortSignal;
  /** Called with each result in order. */
  readonly report: (result: CheckReport) => void;
}

/** @throws the reason of the signal */
export function runDoctor(
  config: Config,
  { report, ...options }: DoctorOptions,
): Promise<readonly CheckReport[]> {
  return withParts(config, options, (parts) =>
    runChecks(checksOf(parts), parts.clock, options.signal, report),
  );
}

/** @throws InspectError; the reason of the signal */
export async function runCreateTopics(
  config: Config,
  chosen: Pick<DoctorOptions, 'pipelines' | 'signal'>,
  options: CreateTopicsOptions,
): Promise<readonly TopicReport[]> {
  const create = ({ pipelines, kafka }: DoctorParts) => createTopics(pipelines, kafka, options);
  try {
    return await withParts(config, { ...chosen, roundTrip: undefined }, (parts) =>
      abortable(create(parts), chosen.signal),
    );
  } catch (error) {
    throw inspectFailure(error, config);
  }
}

async function withParts<T>(
  config: Config,
  { pipelines, roundTrip, signal }: Omit<DoctorOptions, 'report'>,
  work: (parts: DoctorParts) => Promise<T>,
): Promise<T> {
  const logger = createLogger({ level: 'silent' });
  const kafkaCertificates = new Map<string, number>();
  const metrics = {
    set: (_: string, labels: Readonly<Record<string, string | number>>, seconds: number) => {
      kafkaCertificates.set(String(labels.certificate), seconds * 1_000);
    },
  };
  const connect: ConnectOptions = {
    // With the connector's rights, but apart from its quotas at the brokers.
    ...kafkaConnection(config, 'connector', { logger, metrics }),
    clientId: `${config.kafka.clientId}-doctor`,
    connectionTimeoutMs: KAFKA_CONNECT_MS,
  };
  const kafka = connectKafka(connect, logger);
  const [inspector, scan] = [kafka.inspector(), kafka.scan(sourceLimits(config))];
  const service = doctorService(config);
  const registry = schemaRegistry(config);
  const limit = process.constrainedMemory();

  const inspectionOf = (pipeline: PipelineConfig) => ({
    pipeline: inspectedPipeline(config, pipeline),
    scan,
    admin: kafka.admin,
    clock: systemClock,
    signal,
    notice: () => {},
    remoteBatch: undefined,
  });
  const kinds = (pipeline: PipelineConfig): Pick<PipelineParts, 'decoder' | 'remote'> => {
    const formatOf = (name: EventFormatName) => eventFormat(name, registry);
    const { client } = service;
    return {
      decoder: kindOf(
        pipeline,
        inventedService(() => ''),
        logger,
        formatOf,
      ),
      remote:
        client === undefined || pipeline.kind === 'lookup'
          ? undefined
          : kindOf(pipeline, client, logger, formatOf),
    };
  };
  const parts: DoctorParts = {
    clock: systemClock,
    kafka: { inspector, addresses: config.kafka.brokers, login: () => loginOf(config, connect) },
    service: service.parts,
    certificates: async () => [
      ...Array.from(kafkaCertificates, ([owner, endsMs]) => ({
        whose: CERTIFICATES[owner] ?? owner,
        endsMs,
      })),
      ...(await service.certificates()),
    ],
    pipelines: pipelines.map((pipeline) => ({
      name: pipeline.name,
      engine: enginePipeline(config, pipeline),
      inspection: inspectionOf(pipeline),
      maxContentBytes: pipeline.source.maxContentBytes,
      includesContent: pipeline.output.includeContent,
      types: pipeline.source.types,
      ...kinds(pipeline),
      registryChecks: registry
        ? registryChecks(pipeline, registry, () => eventFormat(pipeline.source.format, registry))
        : [],
    })),
    memory: {
      budgetBytes: config.memory.budgetBytes,
      containerBytes: limit > 0 && limit < totalmem() ? limit : undefined,
    },
    roundTrip,
  };
  try {
    return await work(parts);
  } finally {
    await Promise.all([
      inspector.close(),
      scan.close(),
      service.client?.close(),
      registry?.close(),
    ]);
    await kafka.close();
  }
}

function loginOf({ kafka: { tls, sasl } }: Config, { security }: ConnectOptions): string {
  const encryption = tls.enabled ? 'TLS' : 'plain connections';
  const login = sasl.mechanism === 'none' ? 'no login' : sasl.mechanism;
  return `${encryption}, ${login}, as ${security?.principal ?? 'User:ANONYMOUS'}`;
}
