/** Opens a pipeline for the tools: beside the running connector, without a part in its group, its transactions or its offsets. */
import { hostname } from 'node:os';
import { systemClock } from '../../base/system-clock.ts';
import { choosePipeline } from '../../config/choose-pipeline.ts';
import type { Config, PipelineConfig } from '../../config/schema.ts';
import { BufferPool } from '../../core/bytes/buffer-pool.ts';
import type { ShardProducer } from '../../core/ports/kafka.ts';
import type { SourceRecord } from '../../core/record.ts';
import { EventInput } from '../../events/expression/index.ts';
import { hasValue } from '../../events/format.ts';
import { plainFormat } from '../../events/formats/index.ts';
import { FramedReader } from '../../events/formats/output/index.ts';
import { compileFilter } from '../../events/record-filter.ts';
import type { SchemaRegistry } from '../../events/registry/index.ts';
import { connectKafka, requestFailure } from '../../kafka/index.ts';
import type { ServiceClient } from '../../service/client.ts';
import { createLogger } from '../../telemetry/logging/logger.ts';
import {
  InspectError,
  type InspectedPipeline,
  type Inspection,
} from '../../tools/inspect/context.ts';
import { kafkaConnection } from '../clients/kafka-connection.ts';
import { schemaRegistry } from '../clients/schema-registry.ts';
import { toolService } from '../clients/service.ts';
import { sourceLimits } from '../pipeline-options.ts';
import { remoteState } from './remote-state.ts';

/** A person waits: an address that does not answer is told soon. */
const KAFKA_CONNECT_MS = 3_000;
/** A replay that is killed leaves its transaction open for as long: until then nobody reads what follows it on the target. */
const REPLAY_TRANSACTION_MS = 10_000;

export interface InspectOptions {
  /** Name; may be left out when the configuration has one pipeline. */
  readonly pipeline: string | undefined;
  /** Whether the service may be asked for the state of batches. */
  readonly service: boolean;
  readonly notice: (text: string) => void;
}

export interface Tools extends Inspection {
  /** A producer for the memory of replays (src/tools/inspect/replay.ts): transactional id `<topic>-0`. */
  openReplay(memoryTopic: string): ShardProducer;
  /** Who replays, for the memory's record. */
  readonly instance: string;
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
  // Standard output is the answer's; what went wrong comes as an error.
  const logger = createLogger({ level: 'silent' });
  const service = options.service ? serviceOf(config) : undefined;
  const { brokers } = config.kafka;
  const kafka = connectKafka(
    { ...kafkaConnection(config, 'tools', { logger }), connectionTimeoutMs: KAFKA_CONNECT_MS },
    logger,
  );
  const scan = kafka.scan(sourceLimits(config));
  const registry = schemaRegistry(config);
  const { signal } = new AbortController();
  try {
    await kafka.admin.brokerCount().catch((error: unknown) => {
      const why = error instanceof Error ? error.message : String(error);
      if (requestFailure(error) === 'refused')
        throw new InspectError('refused', why, { cause: error });
      throw new InspectError(
        'unreachable',
        `Kafka at ${brokers.join(',')} cannot be reached: ${why}`,
        { cause: error },
      );
    });
    const view = inspectedPipeline(config, pipeline);
    for (const [role, topic] of Object.entries(view.topics)) {
      if ((await kafka.admin.describeTopic(topic)) !== undefined) continue;
      const why =
        role === 'journal'
          ? 'this pipeline has never run, or under another name, or its journal is lost'
          : 'is its name right?';
      throw new InspectError(
        'refused',
        `there is no topic ${topic} (${ROLES[role]} of pipeline ${pipeline.name}): ${why}`,
      );
    }
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
      ...(registry === undefined
        ? {}
        : { readFramed: framedReader(registry, signal, options.notice) }),
      openReplay: (journalTopic) =>
        kafka
          .producers({
            groupId: view.group,
            sourceTopic: view.topics.source,
            journalTopic,
            pool: new BufferPool(0),
            transactionTimeoutMs: REPLAY_TRANSACTION_MS,
          })
          .open(0),
      instance: `${hostname()}-${process.pid}`,
    };
    return await work(tools);
  } catch (error) {
    const failure = error instanceof InspectError ? undefined : requestFailure(error);
    if (failure === undefined) throw error;
    throw new InspectError(failure, (error as Error).message, { cause: error });
  } finally {
    await Promise.all([scan.close(), service?.close(), registry?.close()]);
    await kafka.close();
  }
}

/** Asks the registry only for what a tool shows of a value. */
function framedReader(
  registry: SchemaRegistry,
  signal: AbortSignal,
  notice: (text: string) => void,
) {
  const reader = new FramedReader(registry);
  return async (value: Buffer): Promise<object | undefined> => {
    try {
      return await reader.read(value, signal);
    } catch (error) {
      notice(
        `what is in a decision cannot be shown: ${error instanceof Error ? error.message : String(error)}`,
      );
      return undefined;
    }
  };
}

const ROLES: Readonly<Record<string, string>> = {
  source: 'the source',
  journal: 'the journal',
  decisions: 'the decisions',
  deadLetters: 'the dead letters',
};

/** @throws InspectError */
function serviceOf(config: Config): ServiceClient {
  try {
    return toolService(config);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new InspectError('usage', error.message, { cause: error });
  }
}

/** The pipeline as the tools see it. */
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
    inOrder: output.order === 'source',
    skipsNullValues: source.nullValues === 'skip',
    isFiltered: filterOf(pipeline),
    transactionTimeoutMs: tuning.transactionTimeoutMs,
  };
}

/**
 * Returns whether `source.filter` excludes a record, undefined if only a schema registry could tell.
 * Without a filter there is no such function.
 */
function filterOf({ source }: PipelineConfig): InspectedPipeline['isFiltered'] {
  if (source.filter === undefined) return undefined;
  const format = plainFormat(source.format);
  if (format === undefined) return () => undefined;
  const isWanted = compileFilter(source.filter);
  return (record: SourceRecord) => {
    if (!hasValue(record)) return false;
    const { event } = format.read(record);
    if (event === undefined) return false;
    try {
      return !isWanted(new EventInput(event, record, source.topic));
    } catch {
      return false;
    }
  };
}
