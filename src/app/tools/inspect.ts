/** Opens a pipeline for the tools. They do not use the connector's group, transactions or offsets. */

import { systemClock } from '../../../packages/client/src/base/clock.ts';
import { type Config, choosePipeline, type PipelineConfig } from '../../config/schema.ts';
import { BufferPool } from '../../core/bytes/buffer-pool.ts';
import { type EventFormat, poison } from '../../events/format.ts';
import { PLAIN_FORMATS } from '../../events/formats/index.ts';
import { framedReader } from '../../events/formats/output-format.ts';
import { InspectError, type InspectedPipeline } from '../../tools/inspect/context.ts';
import type { ControlTools } from '../../tools/inspect/control.ts';
import type { ReplayProducer } from '../../tools/inspect/replay.ts';
import { kafkaConnection } from '../kafka-connection.ts';
import { schemaRegistry } from '../schema-registry.ts';
import { unconnectedKind } from './sample.ts';
import { SILENT_LOGGER, withClients } from './tool-clients.ts';

/**
 * Timeout of a tool's transaction. A killed replay leaves its transaction open for this long,
 * during which readers of the target topic wait. After a killed command, owners wait in the same
 * way when they read their journals.
 */
const TRANSACTION_MS = 10_000;

interface InspectOptions {
  /** Name of the pipeline. Optional if the configuration has only one. */
  readonly pipeline: string | undefined;
  readonly notice: (text: string) => void;
}

export interface Tools extends ControlTools {
  /** Returns another pipeline of the configuration. @throws InspectError */
  another(name: string): Promise<InspectedPipeline>;
  /** Opens the producer of a replay: transactional id `<dead letters>-<group>`. */
  openReplay(group: string): ReplayProducer;
}

/** Runs `work` on one pipeline. Closes everything that was opened. @throws InspectError, or the error of `work` */
export async function withPipeline<T>(
  config: Config,
  { pipeline: name, notice }: InspectOptions,
  work: (tools: Tools) => Promise<T>,
): Promise<T> {
  const pipeline = chosenOf(config, name);
  const { signal } = new AbortController();
  const connect = kafkaConnection(config, 'tools', { logger: SILENT_LOGGER });
  const registry = schemaRegistry(config);
  const running = withClients(config, connect, async ({ kafka, scan }) => {
    await kafka.admin.brokerCount();
    const withTopics = async (chosen: PipelineConfig): Promise<InspectedPipeline> => {
      const view = inspectedPipeline(config, chosen);
      for (const [role, topic] of Object.entries(view.topics)) {
        if ((await kafka.admin.describeTopic(topic)) !== undefined) continue;
        const hint =
          role === 'journal'
            ? 'this pipeline has never run, has run under another name, or has lost its journal'
            : 'check its name';
        throw new InspectError(
          'refused',
          `the topic ${topic} (${role} of pipeline ${view.name}) does not exist: ${hint}`,
        );
      }
      return view;
    };
    const view = await withTopics(pipeline);
    const { source: sourceTopic, journal: journalTopic, deadLetters } = view.topics;
    const producer = { pool: new BufferPool(0), transactionTimeoutMs: TRANSACTION_MS };
    return await work({
      pipeline: view,
      another: async (other) => await withTopics(chosenOf(config, other)),
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

/** @throws InspectError */
function chosenOf(config: Config, name: string | undefined): PipelineConfig {
  const chosen = choosePipeline(config, name);
  if (!chosen.ok) throw new InspectError('usage', chosen.error);
  return chosen.value;
}

/** Returns the properties of a pipeline that the tools need. */
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
    isSkipped: skipOf(pipeline),
    transactionTimeoutMs: tuning.transactionTimeoutMs,
  };
}

/** @see InspectedPipeline.isSkipped */
function skipOf(pipeline: PipelineConfig): InspectedPipeline['isSkipped'] {
  const { filter, format: name } = pipeline.source;
  const format = PLAIN_FORMATS[name];
  const { decode } = unconnectedKind(pipeline, format ?? UNREAD);
  return (record) => {
    if ('skip' in decode(record, 0)) return true;
    return format === undefined && filter !== undefined && record.value !== null
      ? undefined
      : false;
  };
}

/** Stands in for a format that needs a schema registry. Sample and null values are checked without it. */
const UNREAD: EventFormat = { read: () => poison('undecodable', '') };
