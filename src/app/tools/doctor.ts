/** Opens and closes the connections for the doctor and for creating topics. */

import { abortable } from '../../../packages/client/src/base/abortable.ts';
import { systemClock } from '../../../packages/client/src/base/clock.ts';
import type { EventFormatName } from '../../config/options/source.ts';
import type { Config, PipelineConfig } from '../../config/schema.ts';
import { serviceOption, servicesOf } from '../../config/services.ts';
import { type RegisteredFormat, schemaState } from '../../events/formats/output-format.ts';
import type { SchemaRegistry, SchemaType } from '../../events/registry/index.ts';
import type { ConnectOptions } from '../../kafka/index.ts';
import {
  type CheckReport,
  type Diagnosis,
  type DoctorCheck,
  type DoctorParts,
  failed,
  ok,
  runChecks,
  warning,
} from '../../tools/doctor/check.ts';
import { checksOf } from '../../tools/doctor/checks.ts';
import {
  type CreateTopicsOptions,
  createTopics,
  type TopicReport,
} from '../../tools/doctor/create-topics.ts';
import { kafkaConnection } from '../kafka-connection.ts';
import { outputFormatOf, outputProblem } from '../output-formats.ts';
import { enginePipeline } from '../pipeline-options.ts';
import { registryProblem, schemaRegistry } from '../schema-registry.ts';
import { toolService } from '../service-client.ts';
import { requestUnknown } from '../service-probe.ts';
import { inspectedPipeline } from './inspect.ts';
import { SILENT_LOGGER, withClients } from './tool-clients.ts';

// Checks of the doctor that use the schema registry.

/** Adds cause and remedy to errors of the registry. @throws Error */
async function explained<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const problem = registryProblem(error, 'read');
    if (problem === undefined) throw error;
    const remedy = problem.isRefusal ? '' : ': check schemaRegistry and whether the registry runs';
    throw new Error(problem.why + remedy, { cause: error });
  }
}

/** Types of the schemas to which a source's values refer, by the source's format. */
const SOURCE_TYPES: Partial<Record<EventFormatName, SchemaType>> = {
  avro: 'AVRO',
  'json-schema': 'JSON',
  protobuf: 'PROTOBUF',
};

export function registryChecks(pipeline: PipelineConfig, registry: SchemaRegistry): DoctorCheck[] {
  const checks: DoctorCheck[] = [];
  const format = outputFormatOf(pipeline);
  if (format !== undefined)
    checks.push({
      name: 'registry.output',
      about: `schema of ${pipeline.output.topic}`,
      run: (signal) => outputSchema(format, registry, signal),
    });
  const { topic, format: sourceFormat } = pipeline.source;
  const type = SOURCE_TYPES[sourceFormat];
  if (type !== undefined)
    checks.push({
      name: 'registry.source',
      about: `latest schema of ${topic}`,
      run: (signal) => sourceSchema(topic, type, registry, signal),
    });
  return checks;
}

async function outputSchema(
  format: RegisteredFormat,
  registry: SchemaRegistry,
  signal: AbortSignal,
): Promise<Diagnosis> {
  const { subject, codec } = format;
  const found = await explained(schemaState(registry, subject, codec.schema, signal));
  return found.state === 'registered'
    ? ok(`contracts/${codec.file} is version ${found.version} of subject ${subject}`)
    : failed(...outputProblem(found, format));
}

/** Compares the type of a source's latest schema, under the default subject of serializers, with the source's format. */
async function sourceSchema(
  topic: string,
  type: SchemaType,
  registry: SchemaRegistry,
  signal: AbortSignal,
): Promise<Diagnosis> {
  const subject = `${topic}-value`;
  const latest = await explained(registry.version(subject, 'latest', signal));
  if (latest === undefined)
    return warning(
      `the registry has no subject ${subject}: producers use another name, or have not written anything yet`,
      'no action is needed if that is intended',
    );
  const found = `version ${latest.version} of subject ${subject} is of type ${latest.type}`;
  const remedy = `set source.format to the format of the producers, or make them write ${type}`;
  return latest.type === type ? ok(found) : failed(found, remedy);
}

interface DoctorOptions {
  /** Pipelines to check. */
  readonly pipelines: readonly PipelineConfig[];
  readonly signal: AbortSignal;
}

/** Runs all checks. @param report called with each result, in the order of the checks @throws the signal's reason */
export function runDoctor(
  config: Config,
  options: DoctorOptions,
  report: (result: CheckReport) => void,
): Promise<readonly CheckReport[]> {
  return withParts(config, options, (parts) =>
    runChecks(checksOf(parts), parts.clock, options.signal, report),
  );
}

/** @throws InspectError, or the signal's reason */
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
    // Uses the connector's permissions, but not its quotas at the brokers.
    ...kafkaConnection(config, 'connector', { logger: SILENT_LOGGER }),
    clientId: `${config.kafka.clientId}-doctor`,
  };
  return withClients(config, connect, async ({ kafka, scan }) => {
    const registry = schemaRegistry(config);
    const parts: DoctorParts = {
      clock: systemClock,
      kafka: {
        inspector: kafka.admin,
        addresses: config.kafka.brokers,
        login: () => loginOf(config, connect),
      },
      services: [...servicesOf(config)].map(([name, service]) => ({
        name,
        path: serviceOption(name),
        address: service.baseUrl,
        async ask(kind, signal) {
          const client = toolService(service);
          await requestUnknown(client, kind, signal).finally(() => client.close());
        },
      })),
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
        },
        registryChecks: registry ? registryChecks(pipeline, registry) : [],
      })),
    };
    try {
      return await work(parts);
    } finally {
      await registry?.close();
    }
  });
}

function loginOf({ kafka: { tls, sasl } }: Config, { security }: ConnectOptions): string {
  const encryption = tls.enabled ? 'TLS' : 'plain connections';
  const login = sasl.mechanism === 'none' ? 'no login' : sasl.mechanism;
  return `${encryption}, ${login}, as ${security?.principal ?? 'User:ANONYMOUS'}`;
}
