/** Checks of the doctor that read the schema registry. */
import type { PipelineConfig } from '../../config/schema.ts';
import type { EventFormat } from '../../events/format.ts';
import { RegisteredFormat, schemaState } from '../../events/formats/output/index.ts';
import { RegistryUnavailable, type SchemaRegistry } from '../../events/registry/index.ts';
import { failed, ok, warning } from '../../tools/doctor/check.ts';
import type { SchemaDiagnosis } from '../../tools/doctor/parts.ts';
import { registryRefusal } from '../clients/registry-refusal.ts';
import { outputFormatOf } from '../formats/output-formats.ts';
import { hasSchema, sourceSchema } from '../formats/source-schema.ts';

/** @throws Error with cause and remedy */
async function explained<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const refusal = registryRefusal(error, 'read');
    if (refusal !== undefined) throw new Error(refusal, { cause: error });
    if (error instanceof RegistryUnavailable)
      throw new Error(`${error.message}: check schemaRegistry, and that the registry runs`, {
        cause: error,
      });
    throw error;
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
  const file = `contracts/${codec.file}`;
  return async (signal) => {
    const found = await explained(schemaState(registry, subject, codec.schema, signal));
    if (found.state === 'registered')
      return ok(`${file} is version ${found.version} of subject ${subject}`);
    if (found.state !== 'incompatible')
      return failed(`${file} is not registered under subject ${subject}`, 'run schemas register');
    const reasons = found.messages.join('; ').slice(0, 500);
    return failed(
      `${file} is incompatible with subject ${subject}, version ${found.latest}${reasons && `: ${reasons}`}`,
      'use another subject (output.subject) or topic, or correct the subject in the registry',
    );
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
          `the registry has no subject ${found.subject}: producers use another name, or have written nothing yet`,
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
        return failed(`${found.which}: ${found.problem}`, found.remedy);
    }
  };
}
