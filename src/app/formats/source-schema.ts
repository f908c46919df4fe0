/** Whether events can be read with the newest schema of a source: known before a record is that was written with it. */
import type { EventFormatName } from '../../config/options/source.ts';
import type { PipelineConfig } from '../../config/schema.ts';
import type { Logger } from '../../core/ports/telemetry.ts';
import type { EventFormat } from '../../events/format.ts';
import type { SchemaRegistry, SchemaType } from '../../events/registry/index.ts';
import { RefusedError } from '../../pipeline/context/errors.ts';
import { registryRefusal } from '../clients/registry-refusal.ts';

const TYPES: Partial<Record<EventFormatName, SchemaType>> = {
  avro: 'AVRO',
  'json-schema': 'JSON',
  protobuf: 'PROTOBUF',
};

/** As TopicNameStrategy has it, which is what serializers do unless they are told otherwise. */
export const subjectOf = ({ source }: Pick<PipelineConfig, 'source'>): string =>
  `${source.topic}-value`;

/** Whether values of the pipeline's source name a schema. */
export const hasSchema = ({ source }: Pick<PipelineConfig, 'source'>): boolean =>
  TYPES[source.format] !== undefined;

export type SourceSchema =
  | { readonly state: 'absent'; readonly subject: string }
  | { readonly state: 'readable'; readonly which: string }
  /** Some of its records become dead letters. */
  | { readonly state: 'partly_readable'; readonly which: string; readonly problem: string }
  | {
      readonly state: 'unreadable';
      readonly which: string;
      readonly problem: string;
      readonly remedy: string;
    };

/**
 * @param formatOf how values are read, as the pipeline does it
 * @throws RegistryUnavailable, RegistryRefused, or the signal's reason
 */
export async function sourceSchema(
  pipeline: Pick<PipelineConfig, 'source'>,
  registry: Pick<SchemaRegistry, 'version'>,
  formatOf: () => EventFormat,
  signal: AbortSignal,
): Promise<SourceSchema> {
  const subject = subjectOf(pipeline);
  const { format } = pipeline.source;
  const latest = await registry.version(subject, 'latest', signal);
  if (latest === undefined) return { state: 'absent', subject };
  const which = `version ${latest.version} of subject ${subject}`;
  if (latest.type !== TYPES[format]) {
    const remedy = `set source.format to what the producers write, or have them write ${format}`;
    return { state: 'unreadable', which, problem: `it is of type ${latest.type}`, remedy };
  }
  const { refusal, exceptions = [] } = (await formatOf().judge?.(latest.id, signal)) ?? {};
  if (refusal !== undefined)
    return {
      state: 'unreadable',
      which,
      problem: refusal,
      remedy: 'correct the schema, or source.format',
    };
  return exceptions.length === 0
    ? { state: 'readable', which }
    : { state: 'partly_readable', which, problem: listed(exceptions) };
}

const MAX_LISTED = 5;

function listed(exceptions: readonly string[]): string {
  const more = exceptions.length - MAX_LISTED;
  return exceptions.slice(0, MAX_LISTED).join('; ') + (more > 0 ? `; and ${more} more` : '');
}

/** A registry that is slower than this is left alone: records wait for it anyway. */
const LOOK_MS = 30_000;

export interface Look {
  readonly registry: Pick<SchemaRegistry, 'version'>;
  readonly formatOf: (name: EventFormatName) => EventFormat;
  /** What to do about a schema with which no record can be read. */
  readonly onUnreadable: 'refuse' | 'warn';
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/**
 * Looks once at the newest schema of each source. What the registry cannot say now, records will tell.
 * @throws RefusedError when one cannot be read: each record written with it would become a dead letter; the signal's reason
 */
export async function refuseUnreadableSources(
  pipelines: readonly Pick<PipelineConfig, 'name' | 'source'>[],
  { registry, formatOf, onUnreadable, logger, signal }: Look,
): Promise<void> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(LOOK_MS)]);
  const look = async (pipeline: Pick<PipelineConfig, 'name' | 'source'>) => {
    const { name, source } = pipeline;
    try {
      const found = await sourceSchema(pipeline, registry, () => formatOf(source.format), limit);
      if (found.state === 'unreadable') {
        const { which, problem, remedy } = found;
        const what = `the newest schema of its source (${which}) cannot be read, its records would become dead letters`;
        const message = `${what}: ${problem}: ${remedy}`;
        if (onUnreadable === 'warn')
          return logger.warn({ pipeline: name, error: message }, 'the source cannot be read');
        throw new RefusedError(
          `pipeline ${name}: ${message}, or set schemaRegistry.onUnreadableSource to warn`,
        );
      }
      if (found.state !== 'partly_readable')
        logger.info({ pipeline: name, ...found }, 'schema of the source');
      else
        logger.warn(
          { pipeline: name, ...found },
          'some records of the newest schema of the source would become dead letters',
        );
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof RefusedError) throw error;
      const because = limit.aborted
        ? 'it takes too long'
        : (registryRefusal(error, 'read') ?? (error as Error).message);
      logger.warn(
        { pipeline: name, error: because },
        'could not look at the newest schema of the source; its records will tell',
      );
    }
  };
  await Promise.all(pipelines.filter(hasSchema).map(look));
}
