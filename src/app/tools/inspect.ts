/** Opens a pipeline for the tools, apart from the connector's group, transactions and offsets. */
import { systemClock } from '../../../packages/client/src/base/system-clock.ts';
import type { ServiceClient } from '../../../packages/client/src/service/client.ts';
import { choosePipeline } from '../../config/choose-pipeline.ts';
import type { Config, PipelineConfig } from '../../config/schema.ts';
import { BufferPool } from '../../core/bytes/buffer-pool.ts';
import { FramedReader } from '../../events/formats/output/index.ts';
import type { SchemaRegistry } from '../../events/registry/index.ts';
import { connectKafka, requestFailure } from '../../kafka/index.ts';
import { createLogger } from '../../telemetry/logging/logger.ts';
import { InspectError, type InspectedPipeline } from '../../tools/inspect/context.ts';
import type { ControlTools } from '../../tools/inspect/control.ts';
import type { ReplayProducer } from '../../tools/inspect/dead-letters/replay.ts';
import { kafkaConnection } from '../clients/kafka-connection.ts';
import { schemaRegistry } from '../clients/schema-registry.ts';
import { toolService } from '../clients/service.ts';
import { sourceLimits } from '../pipeline-options.ts';
import { remoteState } from './remote-state.ts';
import { plainDecoder } from './sample.ts';

/** Short, because a person waits. */
const KAFKA_CONNECT_MS = 3_000;
/**
 * A killed replay leaves its transaction open for this long, and readers of the target wait for it; that
 * of a killed command keeps owners from reading their journals on.
 */
const TRANSACTION_MS = 10_000;
/** Different causes that are reported for unreadable decisions. */
const MAX_CAUSES = 5;

interface InspectOptions {
  /** Name; optional when the configuration has one pipeline. */
  readonly pipeline: string | undefined;
  /** Allows requests to the service for the state of batches. */
  readonly service: boolean;
  readonly notice: (text: string) => void;
  /** Ends reading. */
  readonly signal?: AbortSignal;
}

export interface Tools extends ControlTools {
  /** Opens the producer of a replay: transactional id `<dead letters>-<group>`. */
  openReplay(group: string): ReplayProducer;
}

/**
 * Runs `work` on one pipeline and closes what was opened.
 * @throws InspectError; what `work` throws.
 */
export async function withPipeline<T>(
  config: Config,
  options: InspectOptions,
  work: (tools: Tools) => Promise<T>,
): Promise<T> {
  const chosen = choosePipeline(config, options.pipeline);
  if (!chosen.ok) throw new InspectError('usage', chosen.error);
  const pipeline = chosen.value;
  // Standard output belongs to the answer; failures are thrown.
  const logger = createLogger({ level: 'silent' });
  const service = options.service ? serviceOf(config) : undefined;
  const kafka = connectKafka(
    { ...kafkaConnection(config, 'tools', { logger }), connectionTimeoutMs: KAFKA_CONNECT_MS },
    logger,
  );
  const scan = kafka.scan(sourceLimits(config));
  const registry = schemaRegistry(config, {
    request() {},
    unavailable: options.notice,
    available() {},
  });
  const { signal = new AbortController().signal } = options;
  try {
    await kafka.admin.brokerCount();
    const view = inspectedPipeline(config, pipeline);
    for (const [role, topic] of Object.entries(view.topics)) {
      if ((await kafka.admin.describeTopic(topic)) !== undefined) continue;
      const hint =
        role === 'journal'
          ? 'this pipeline has never run, or under another name, or its journal is lost'
          : 'check its name';
      throw new InspectError(
        'refused',
        `the topic ${topic} (${role} of pipeline ${pipeline.name}) does not exist: ${hint}`,
      );
    }
    const { source: sourceTopic, journal: journalTopic, deadLetters } = view.topics;
    const producer = { pool: new BufferPool(0), transactionTimeoutMs: TRANSACTION_MS };
    const tools: Tools = {
      pipeline: view,
      scan,
      admin: kafka.admin,
      clock: systemClock,
      signal,
      notice: options.notice,
      ...(service === undefined
        ? { remoteBatch: undefined }
        : remoteState(pipeline, service, signal)),
      readFramed: registry && framedReader(registry, signal, options.notice),
      openControl: (shards) =>
        kafka.controlProducer(
          { ...producer, groupId: view.group, sourceTopic, journalTopic },
          shards,
        ),
      openReplay: (groupId) => kafka.replayProducer({ ...producer, groupId, deadLetters }),
    };
    return await work(tools);
  } catch (error) {
    throw inspectFailure(error, config);
  } finally {
    await Promise.all([scan.close(), service?.close(), registry?.close()]);
    await kafka.close();
  }
}

/** Returns the failure of a request to Kafka as an InspectError; another error as it is. */
export function inspectFailure(error: unknown, { kafka: { brokers } }: Config): unknown {
  const failure = error instanceof InspectError ? undefined : requestFailure(error);
  if (failure === undefined) return error;
  const { message } = error as Error;
  const where =
    failure === 'unreachable' ? `Kafka at ${brokers.join(',')} cannot be reached: ` : '';
  return new InspectError(failure, where + message, { cause: error });
}

/** Decodes the parts of a value that the tools show. */
function framedReader(
  registry: SchemaRegistry,
  signal: AbortSignal,
  notice: (text: string) => void,
) {
  const reader = new FramedReader(registry);
  const told = new Set<string>();
  return async (value: Buffer): Promise<object | undefined> => {
    try {
      return await reader.read(value, signal);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (told.size < MAX_CAUSES && !told.has(message))
        notice(`the content of a decision cannot be shown: ${message}`);
      told.add(message);
      return undefined;
    }
  };
}

/** @throws InspectError */
function serviceOf(config: Config): ServiceClient {
  try {
    return toolService(config);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new InspectError('usage', error.message, { cause: error });
  }
}

/** Properties of a pipeline that the tools use. */
export function inspectedPipeline(
  { pipelines }: Config,
  pipeline: PipelineConfig,
): InspectedPipeline {
  const { source, journal, output, deadLetters, kafka: tuning } = pipeline;
  return {
    name: pipeline.name,
    kind: pipeline.kind,
    group: source.group,
    topics: {
      source: source.topic,
      journal: journal.topic,
      decisions: output.topic,
      deadLetters: deadLetters.topic,
    },
    reservedTopics: pipelines.flatMap((one) => [
      one.journal.topic,
      one.output.topic,
      one.deadLetters.topic,
    ]),
    types: typesOf(pipeline),
    skipsNullValues: source.nullValues === 'skip',
    isFiltered: filterOf(pipeline),
    transactionTimeoutMs: tuning.transactionTimeoutMs,
  };
}

function typesOf({ kind, source: { mapping } }: PipelineConfig): readonly string[] | undefined {
  if (kind === 'lookup') return [];
  const { type } = mapping;
  if ('constant' in type) return [type.constant];
  const { map, otherwise } = type;
  return map && [...new Set([...Object.values(map), ...(otherwise ? [otherwise] : [])])];
}

/**
 * Returns whether `source.filter` excludes a record, undefined if only a schema registry could tell.
 * Without a filter there is no such function.
 */
function filterOf(pipeline: PipelineConfig): InspectedPipeline['isFiltered'] {
  if (pipeline.source.filter === undefined) return undefined;
  const decode = plainDecoder(pipeline);
  return (record) => {
    const decoded = decode?.(record, 0);
    return decoded && 'skip' in decoded && decoded.skip === 'filter';
  };
}
