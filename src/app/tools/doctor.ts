/** Opens everything that a configuration names for the doctor, and closes it. */
import { totalmem } from 'node:os';
import type { Environment } from '../../config/load/interpolate.ts';
import type { EventFormatName } from '../../config/options/source.ts';
import type { Config, PipelineConfig } from '../../config/schema.ts';
import type { ConfluentRegistry } from '../../events/registry/index.ts';
import { type ConnectOptions, connectKafka } from '../../kafka/index.ts';
import { createLogger } from '../../telemetry/logging/logger.ts';
import {
  type Certificate,
  checksOf,
  type DoctorParts,
  type MemoryFacts,
  type PipelineParts,
  type Result,
  runChecks,
} from '../../tools/doctor/index.ts';
import { kafkaConnection } from '../clients/kafka-connection.ts';
import { schemaRegistry } from '../clients/schema-registry.ts';
import { eventFormat } from '../formats/all-formats.ts';
import { kindOf } from '../kinds.ts';
import { enginePipeline, sourceLimits } from '../pipeline-options.ts';
import { systemClock } from '../system.ts';
import { doctorRegistry, outputSchemaOf, sourceSchemaOf } from './doctor-registry.ts';
import { type DoctorService, doctorService } from './doctor-service.ts';
import { pipelineView } from './inspect.ts';
import { inventedService } from './sample.ts';

/** A person waits: an address that does not answer is told soon. */
const KAFKA_CONNECT_MS = 3_000;
const OWNERS: Readonly<Record<string, string>> = {
  client: "this client's certificate (kafka.tls.certificate)",
  ca: 'an authority in kafka.tls.ca',
  broker: "a broker's certificate",
};

export interface DoctorOptions {
  /** Those to look at. */
  readonly pipelines: readonly PipelineConfig[];
  readonly roundTrip: DoctorParts['roundTrip'];
  readonly env: Environment;
  readonly execArgv: readonly string[];
  readonly signal: AbortSignal;
  /** Told of each result in its turn. */
  readonly report: (result: Result) => void;
}

/** @throws the signal's reason */
export async function runDoctor(
  config: Config,
  options: DoctorOptions,
): Promise<readonly Result[]> {
  const logger = createLogger({ level: 'silent' });
  const certificates = new Map<string, number>();
  const connect: ConnectOptions = {
    // The connector's rights are those that count; its name in the brokers' quotas is not taken from it.
    ...kafkaConnection(config, 'connector', { logger, metrics: expiryMetrics(certificates) }),
    clientId: `${config.kafka.clientId}-doctor`,
    connectionTimeoutMs: KAFKA_CONNECT_MS,
  };
  const kafka = connectKafka(connect, logger);
  const [probe, scan] = [kafka.probe(), kafka.scan(sourceLimits(config))];
  const service = doctorService(config);
  const registry = schemaRegistry(config);
  const parts: DoctorParts = {
    clock: systemClock,
    kafka: {
      probe,
      scan,
      admin: kafka.admin,
      addresses: config.kafka.brokers,
      principal: () => connect.security?.principal ?? 'User:ANONYMOUS',
      login: () => loginOf(config, connect),
      certificates: config.kafka.tls.enabled ? () => seen(certificates) : undefined,
    },
    service: service.parts,
    registry: registry === undefined ? undefined : doctorRegistry(config, registry),
    pipelines: options.pipelines.map((pipeline) =>
      pipelineParts(config, pipeline, {
        kafka: { scan, admin: kafka.admin },
        service,
        registry,
        signal: options.signal,
      }),
    ),
    memory: memoryFacts(config, options),
    roundTrip: options.roundTrip,
  };
  try {
    return await runChecks(checksOf(parts), systemClock, options.signal, options.report);
  } finally {
    await Promise.all([probe.close(), scan.close(), service.client?.close(), registry?.close()]);
    await kafka.close();
  }
}

interface Opened {
  readonly kafka: Pick<DoctorParts['kafka'], 'scan' | 'admin'>;
  readonly service: DoctorService;
  readonly registry: ConfluentRegistry | undefined;
  readonly signal: AbortSignal;
}

function pipelineParts(
  config: Config,
  pipeline: PipelineConfig,
  { kafka, service, registry, signal }: Opened,
): PipelineParts {
  const logger = createLogger({ level: 'silent' });
  const formatOf = (name: EventFormatName) => eventFormat(name, registry, config.schemaRegistry);
  const decoder = kindOf(
    pipeline,
    inventedService(() => ''),
    logger,
    formatOf,
  );
  const { client } = service;
  return {
    name: pipeline.name,
    engine: enginePipeline(config, pipeline),
    inspection: {
      pipeline: pipelineView(config, pipeline),
      ...kafka,
      clock: systemClock,
      signal,
      notice: () => {},
      remoteBatch: undefined,
    },
    sessionTimeoutMs: pipeline.kafka.sessionTimeoutMs,
    transactionTimeoutMs: pipeline.kafka.transactionTimeoutMs,
    maxContentBytes: pipeline.source.maxContentBytes,
    includesContent: pipeline.output.includeContent,
    types: pipeline.source.types,
    decoder,
    remote:
      client === undefined || pipeline.kind === 'lookup'
        ? undefined
        : kindOf(pipeline, client, logger, formatOf),
    outputSchema: registry === undefined ? undefined : outputSchemaOf(config, pipeline, registry),
    sourceSchema:
      registry === undefined
        ? undefined
        : sourceSchemaOf(pipeline, registry, () => formatOf(pipeline.source.format)),
  };
}

function loginOf({ kafka: { tls, sasl } }: Config, { security }: ConnectOptions): string {
  const way = tls.enabled ? 'TLS' : 'plain connections';
  const login = sasl.mechanism === 'none' ? 'no login' : sasl.mechanism;
  return `${way}, ${login}, as ${security?.principal ?? 'User:ANONYMOUS'}`;
}

/** The connection tells of certificates through a gauge. */
function expiryMetrics(certificates: Map<string, number>) {
  return {
    count() {},
    remove() {},
    observe() {},
    set(name: string, labels: Readonly<Record<string, string | number>>, seconds: number) {
      if (name === 'kafka_tls_certificate_expiry_timestamp_seconds')
        certificates.set(String(labels.certificate), seconds * 1_000);
    },
  };
}

const seen = (certificates: ReadonlyMap<string, number>): Certificate[] =>
  [...certificates].map(([owner, endsMs]) => ({ whose: OWNERS[owner] ?? owner, endsMs }));

function memoryFacts(
  { memory }: Config,
  { env, execArgv }: Pick<DoctorOptions, 'env' | 'execArgv'>,
): MemoryFacts {
  const limit = process.constrainedMemory();
  const flag = [...execArgv, ...(env.NODE_OPTIONS ?? '').split(/\s+/)].flatMap(
    (one) => /^--max[-_]semi[-_]space[-_]size=(\d+)$/.exec(one)?.[1] ?? [],
  );
  return {
    budgetBytes: memory.budgetBytes,
    containerBytes: limit > 0 && limit < totalmem() ? limit : undefined,
    arenas: env.MALLOC_ARENA_MAX,
    semiSpaceMiB: flag.length === 0 ? undefined : Number(flag.at(-1)),
  };
}
