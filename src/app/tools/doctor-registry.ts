/** Checks of the doctor that read the schema registry. */
import type { PipelineConfig } from '../../config/schema.ts';
import type { EventFormat } from '../../events/format.ts';
import { RegisteredFormat, schemaState } from '../../events/formats/output/index.ts';
import type { SchemaRegistry } from '../../events/registry/index.ts';
import { failed, ok, warning } from '../../tools/doctor/check.ts';
import type { SchemaDiagnosis } from '../../tools/doctor/parts.ts';
import { registryProblem } from '../clients/schema-registry.ts';
import { outputFormatOf, outputProblem } from '../formats/output-formats.ts';
import { hasSchema, sourceSchema } from '../formats/source-schema.ts';

/** @throws Error with cause and remedy */
async function explained<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const problem = registryProblem(error, 'read');
    if (problem === undefined) throw error;
    const remedy = problem.isRefusal ? '' : ': check schemaRegistry, and that the registry runs';
    throw new Error(problem.why + remedy, { cause: error });
  }
}

/** @returns undefined when the output of the pipeline has no schema in a registry */
export function outputSchemaOf(
  pipeline: PipelineConfig,
  registry: SchemaRegistry,
): SchemaDiagnosis | undefined {
  const format = outputFormatOf(pipeline);
  if (!(format instanceof RegisteredFormat)) return undefined;
  const { subject, codec } = format;
  return async (signal) => {
    const found = await explained(schemaState(registry, subject, codec.schema, signal));
    return found.state === 'registered'
      ? ok(`contracts/${codec.file} is version ${found.version} of subject ${subject}`)
      : failed(...outputProblem(found, format));
  };
}

/**
 * @param formatOf the format in which the pipeline reads values
 * @returns undefined when the values of the source have no schema
 */
export function sourceSchemaOf(
  pipeline: PipelineConfig,
  registry: SchemaRegistry,
  formatOf: () => EventFormat,
): SchemaDiagnosis | undefined {
  if (!hasSchema(pipeline)) return undefined;
  return async (signal) => {
    const found = await explained(sourceSchema(pipeline, registry, formatOf, signal));
    switch (found.state) {
      case 'absent':
        return warning(
          `the registry has no ${found.which}: producers use another name, or have written nothing yet`,
          'none, if the newest records can be read',
        );
      case 'readable':
        return ok(`${found.which} can be read`);
      case 'partly_readable':
        return warning(
          `${found.which} can be read, but not all of its records: ${found.problem}`,
          'none, if producers write no such records',
        );
      case 'unreadable':
        return failed(`${found.which}: ${found.problem}`, found.remedy ?? '');
    }
  };
}
