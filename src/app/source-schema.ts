/** Check whether a source's newest schema can be read, before a record with that schema arrives. */
import type { EventFormatName } from '../config/options/source.ts';
import type { PipelineConfig } from '../config/schema.ts';
import type { Logger } from '../core/ports/telemetry.ts';
import type { EventFormat } from '../events/format.ts';
import type { SchemaRegistry, SchemaType } from '../events/registry/index.ts';
import { RefusedError } from '../pipeline/context/errors.ts';
import { registryProblem } from './schema-registry.ts';

const TYPES: Partial<Record<EventFormatName, SchemaType>> = {
  avro: 'AVRO',
  'json-schema': 'JSON',
  protobuf: 'PROTOBUF',
};

/** Returns true if the values of the pipeline's source refer to a schema. */
export const hasSchema = ({ source }: Pick<PipelineConfig, 'source'>): boolean =>
  TYPES[source.format] !== undefined;

export interface SourceSchema {
  /** If `unreadable`, all records become dead letters. */
  readonly state: 'absent' | 'readable' | 'unreadable';
  /** Name such as `version 3 of subject events-value`, or only the subject. */
  readonly which: string;
  readonly problem?: string;
  readonly remedy?: string;
}

/**
 * Checks the newest schema of a source.
 * @param formatOf returns the reader of the pipeline's values
 * @throws RegistryUnavailable, RegistryRefused, or the signal's reason
 */
export async function sourceSchema(
  { source }: Pick<PipelineConfig, 'source'>,
  registry: Pick<SchemaRegistry, 'version'>,
  formatOf: () => EventFormat,
  signal: AbortSignal,
): Promise<SourceSchema> {
  // Name by TopicNameStrategy, the default of serializers.
  const subject = `${source.topic}-value`;
  const latest = await registry.version(subject, 'latest', signal);
  if (latest === undefined) return { state: 'absent', which: `subject ${subject}` };
  const which = `version ${latest.version} of subject ${subject}`;
  if (latest.type !== TYPES[source.format])
    return {
      state: 'unreadable',
      which,
      problem: `it is of type ${latest.type}`,
      remedy: `set source.format to the format of the producers, or make them write ${source.format}`,
    };
  const problem = await formatOf().judge?.(latest.id, signal);
  return problem === undefined
    ? { state: 'readable', which }
    : { state: 'unreadable', which, problem, remedy: 'correct the schema, or source.format' };
}

/** Maximum wait for the registry. If it does not respond, the records will have to wait for it anyway. */
const LOOK_MS = 30_000;

export interface Look {
  readonly registry: Pick<SchemaRegistry, 'version'>;
  readonly formatOf: (name: EventFormatName) => EventFormat;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/**
 * Checks the newest schema of each source once. If the registry does not respond, the check is
 * skipped, and each record's own schema decides.
 * @throws RefusedError for a schema with which no record can be read, or the signal's reason
 */
export async function refuseUnreadableSources(
  pipelines: readonly Pick<PipelineConfig, 'name' | 'source'>[],
  { registry, formatOf, logger, signal }: Look,
): Promise<void> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(LOOK_MS)]);
  const look = async ({ name, source }: Pick<PipelineConfig, 'name' | 'source'>) => {
    try {
      const found = await sourceSchema({ source }, registry, () => formatOf(source.format), limit);
      const { state, which, problem, remedy } = found;
      if (state === 'unreadable')
        throw new RefusedError(
          `pipeline ${name}: the newest schema of its source (${which}) cannot be read, so its records would become dead letters: ${problem}: ${remedy}`,
        );
      logger.info({ pipeline: name, ...found }, 'source schema checked');
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
