/** Check of the newest schema of a source, before a record written with it arrives. */
import { ok } from '../../base/result.ts';
import type { EventFormatName } from '../../config/options/source.ts';
import type { PipelineConfig } from '../../config/schema.ts';
import type { Logger } from '../../core/ports/telemetry.ts';
import type { EventFormat } from '../../events/format.ts';
import type { SchemaRegistry, SchemaType } from '../../events/registry/index.ts';
import { RefusedError } from '../../pipeline/context/errors.ts';
import { registryProblem } from '../clients/schema-registry.ts';

const TYPES: Partial<Record<EventFormatName, SchemaType>> = {
  avro: 'AVRO',
  'json-schema': 'JSON',
  protobuf: 'PROTOBUF',
};

/** Returns whether the values of the pipeline's source refer to a schema. */
export const hasSchema = ({ source }: Pick<PipelineConfig, 'source'>): boolean =>
  TYPES[source.format] !== undefined;

export interface SourceSchema {
  /** With `partly_readable` some records become dead letters, with `unreadable` all of them. */
  readonly state: 'absent' | 'readable' | 'partly_readable' | 'unreadable';
  /** `version 3 of subject events-value`, or only the subject. */
  readonly which: string;
  readonly problem?: string;
  readonly remedy?: string;
}

/**
 * @param formatOf returns the reader of the pipeline's values
 * @throws RegistryUnavailable, RegistryRefused, or the signal's reason
 */
export async function sourceSchema(
  { source }: Pick<PipelineConfig, 'source'>,
  registry: Pick<SchemaRegistry, 'version'>,
  formatOf: () => EventFormat,
  signal: AbortSignal,
): Promise<SourceSchema> {
  // By TopicNameStrategy, the default of serializers.
  const subject = `${source.topic}-value`;
  const latest = await registry.version(subject, 'latest', signal);
  if (latest === undefined) return { state: 'absent', which: `subject ${subject}` };
  const which = `version ${latest.version} of subject ${subject}`;
  if (latest.type !== TYPES[source.format])
    return {
      state: 'unreadable',
      which,
      problem: `it is of type ${latest.type}`,
      remedy: `set source.format to what the producers write, or have them write ${source.format}`,
    };
  const verdict = (await formatOf().judge?.(latest.id, signal)) ?? ok([]);
  if (!verdict.ok)
    return {
      ...{ state: 'unreadable', which, problem: verdict.error },
      remedy: 'correct the schema, or source.format',
    };
  return verdict.value.length === 0
    ? { state: 'readable', which }
    : { state: 'partly_readable', which, problem: listed(verdict.value) };
}

const MAX_LISTED = 5;

function listed(exceptions: readonly string[]): string {
  const more = exceptions.length - MAX_LISTED;
  return exceptions.slice(0, MAX_LISTED).join('; ') + (more > 0 ? `; and ${more} more` : '');
}

/** Longest wait for the registry; records wait for it anyway. */
const LOOK_MS = 30_000;

export interface Look {
  readonly registry: Pick<SchemaRegistry, 'version'>;
  readonly formatOf: (name: EventFormatName) => EventFormat;
  /** Reaction to a schema with which no record can be read. */
  readonly onUnreadable: 'refuse' | 'warn';
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/**
 * Checks the newest schema of each source once; without an answer the records decide.
 * @throws RefusedError for a schema with which no record can be read; the signal's reason
 */
export async function refuseUnreadableSources(
  pipelines: readonly Pick<PipelineConfig, 'name' | 'source'>[],
  { registry, formatOf, onUnreadable, logger, signal }: Look,
): Promise<void> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(LOOK_MS)]);
  const look = async ({ name, source }: Pick<PipelineConfig, 'name' | 'source'>) => {
    try {
      const found = await sourceSchema({ source }, registry, () => formatOf(source.format), limit);
      const { state, which, problem, remedy } = found;
      const about = { pipeline: name, ...found };
      if (state === 'partly_readable')
        logger.warn(about, 'source schema: some records would become dead letters');
      else if (state !== 'unreadable') logger.info(about, 'source schema checked');
      else {
        const error = `the newest schema of its source (${which}) cannot be read, its records would become dead letters: ${problem}: ${remedy}`;
        if (onUnreadable === 'refuse')
          throw new RefusedError(
            `pipeline ${name}: ${error}, or set schemaRegistry.onUnreadableSource to warn`,
          );
        logger.warn({ pipeline: name, error }, 'source schema cannot be read');
      }
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof RefusedError) throw error;
      const because = limit.aborted
        ? 'no response in time'
        : (registryProblem(error, 'read')?.why ?? (error as Error).message);
      logger.warn(
        { pipeline: name, error: because },
        'source schema not checked; relying on the schema ids in the records',
      );
    }
  };
  await Promise.all(pipelines.filter(hasSchema).map(look));
}
