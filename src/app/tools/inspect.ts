/** Opens a pipeline for the tools, apart from the connector's group, transactions and offsets. */

import { systemClock } from '../../../packages/client/src/base/clock.ts';
import { type Config, choosePipeline, type PipelineConfig } from '../../config/schema.ts';
import { BufferPool } from '../../core/bytes/buffer-pool.ts';
import { framedReader } from '../../events/formats/output-format.ts';
import { InspectError, type InspectedPipeline } from '../../tools/inspect/context.ts';
import type { ControlTools } from '../../tools/inspect/control.ts';
import type { ReplayProducer } from '../../tools/inspect/replay.ts';
import { kafkaConnection } from '../kafka-connection.ts';
import { schemaRegistry } from '../schema-registry.ts';
import { plainDecoder } from './sample.ts';
import { SILENT_LOGGER, withClients } from './tool-clients.ts';

/**
 * A killed replay leaves its transaction open for this long, and readers of the target wait for it; that
 * of a killed command keeps owners from reading their journals on.
 */
const TRANSACTION_MS = 10_000;

interface InspectOptions {
  /** Name; optional when the configuration has one pipeline. */
  readonly pipeline: string | undefined;
  readonly notice: (text: string) => void;
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
  { pipeline: name, notice }: InspectOptions,
  work: (tools: Tools) => Promise<T>,
): Promise<T> {
  const chosen = choosePipeline(config, name);
  if (!chosen.ok) throw new InspectError('usage', chosen.error);
  const pipeline = chosen.value;
  const { signal } = new AbortController();
  const connect = kafkaConnection(config, 'tools', { logger: SILENT_LOGGER });
  const registry = schemaRegistry(config);
  const running = withClients(config, connect, async ({ kafka, scan }) => {
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
    return await work({
      pipeline: view,
      scan,
      admin: kafka.admin,
      clock: systemClock,
      signal,
      notice,
      readFramed: registry && framedReader(registry, signal, notice),
      openControl: (shards) =>
        kafka.controlProducer(
          { ...producer, groupId: view.group, sourceTopic, journalTopic },
          shards,
        ),
      openReplay: (groupId) => kafka.replayProducer({ ...producer, groupId, deadLetters }),
    });
  });
  return await running.finally(() => registry?.close());
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
    skipsNullValues: source.nullValues === 'skip',
    isFiltered: filterOf(pipeline),
    transactionTimeoutMs: tuning.transactionTimeoutMs,
  };
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
