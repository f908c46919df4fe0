/** What the doctor asks the schema registry: whether it answers, and how the schemas of a pipeline stand. */
import type { Config, PipelineConfig } from '../../config/schema.ts';
import type { EventFormat } from '../../events/format.ts';
import { RegisteredFormat } from '../../events/formats/output/index.ts';
import {
  type ConfluentRegistry,
  RegistryUnavailable,
  type SchemaRegistry,
} from '../../events/registry/index.ts';
import { type Finding, failed, ok, type RegistryParts, warning } from '../../tools/doctor/index.ts';
import { InspectError } from '../../tools/inspect/context.ts';
import { registryRefusal } from '../clients/registry-refusal.ts';
import { outputFormatOf } from '../formats/output-formats.ts';
import { schemaReports } from '../formats/schemas.ts';
import { hasSchema, sourceSchema, subjectOf } from '../formats/source-schema.ts';

/** @throws what the calls of these throw, in words for people */
async function explained<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const refusal = registryRefusal(error, 'read');
    if (refusal !== undefined) throw new Error(refusal, { cause: error });
    if (error instanceof RegistryUnavailable)
      throw new Error(`${error.message}: check schemaRegistry, and whether it runs`, {
        cause: error,
      });
    throw error;
  }
}

export function doctorRegistry(config: Config, registry: ConfluentRegistry): RegistryParts {
  const [first] = config.pipelines;
  return {
    addresses: config.schemaRegistry.urls.map((url) => new URL(url).host),
    async ask(signal) {
      // Of a subject that matters: credentials may be for some subjects alone. One that is not there is an answer too.
      await explained(
        registry.versions(first === undefined ? 'content-review' : subjectOf(first), signal),
      );
    },
  };
}

export function outputSchemaOf(
  config: Config,
  pipeline: PipelineConfig,
  registry: ConfluentRegistry,
) {
  if (!(outputFormatOf(pipeline) instanceof RegisteredFormat)) return undefined;
  return async (signal: AbortSignal): Promise<Finding> => {
    try {
      const options = { pipeline: pipeline.name, register: false };
      const [report] = await schemaReports(config, options, signal, () => sharedRegistry(registry));
      if (report === undefined) return ok('it has none');
      const { state, subject, file, version, latest, messages } = report;
      if (state === 'registered') return ok(`${file} is version ${version} of subject ${subject}`);
      if (state !== 'incompatible')
        return failed(`${file} is not registered under subject ${subject}`, 'run schemas register');
      const why = messages.length === 0 ? '' : ` (${messages.join('; ').slice(0, 500)})`;
      return failed(
        `${file} is incompatible with the versions of subject ${subject}, the latest of which is ${latest}${why}`,
        'use another subject (output.subject) or topic, or put the subject right in the registry',
      );
    } catch (error) {
      if (error instanceof InspectError) return failed(error.message);
      throw error;
    }
  };
}

/** One that is not closed: the other checks go on asking it. */
function sharedRegistry(registry: ConfluentRegistry): SchemaRegistry {
  return {
    byId: (...asked) => registry.byId(...asked),
    versions: (...asked) => registry.versions(...asked),
    version: (...asked) => registry.version(...asked),
    lookup: (...asked) => registry.lookup(...asked),
    compatibility: (...asked) => registry.compatibility(...asked),
    register: (...asked) => registry.register(...asked),
    close: async () => {},
  };
}

/** @param formatOf how values are read, as the pipeline does it */
export function sourceSchemaOf(
  pipeline: PipelineConfig,
  registry: ConfluentRegistry,
  formatOf: () => EventFormat,
) {
  if (!hasSchema(pipeline)) return undefined;
  return async (signal: AbortSignal): Promise<Finding> => {
    const found = await explained(sourceSchema(pipeline, registry, formatOf, signal));
    switch (found.state) {
      case 'absent':
        return warning(
          `the registry has no subject ${found.subject}: its producers name it otherwise, or have written nothing yet`,
          'nothing, if the newest records could be read',
        );
      case 'readable':
        return ok(`${found.which} can be read`);
      case 'partly_readable':
        return warning(
          `${found.which} can be read, but not all of its records: ${found.problem}`,
          'nothing, if its producers write no such records',
        );
      case 'unreadable':
        return failed(`${found.which}: ${found.problem}`, found.remedy);
    }
  };
}
