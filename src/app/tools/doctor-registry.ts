/** Checks of the doctor that read the schema registry. */
import type { PipelineConfig } from '../../config/schema.ts';
import type { EventFormat } from '../../events/format.ts';
import { type RegisteredFormat, schemaState } from '../../events/formats/output/index.ts';
import type { SchemaRegistry } from '../../events/registry/index.ts';
import { type Diagnosis, type DoctorCheck, failed, ok, warning } from '../../tools/doctor/check.ts';
import { registryProblem } from '../clients/schema-registry.ts';
import { outputFormatOf, outputProblem } from '../formats/output-formats.ts';
import { hasSchema, type SourceSchema, sourceSchema } from '../formats/source-schema.ts';

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

/** @param formatOf the format in which the pipeline reads values */
export function registryChecks(
  pipeline: PipelineConfig,
  registry: SchemaRegistry,
  formatOf: () => EventFormat,
): DoctorCheck[] {
  const checks: DoctorCheck[] = [];
  const format = outputFormatOf(pipeline);
  if (format !== undefined)
    checks.push({
      name: 'registry.output',
      about: `schema of ${pipeline.output.topic}`,
      run: (signal) => outputSchema(format, registry, signal),
    });
  if (hasSchema(pipeline))
    checks.push({
      name: 'registry.source',
      about: `latest schema of ${pipeline.source.topic}`,
      run: async (signal) =>
        verdict(await explained(sourceSchema(pipeline, registry, formatOf, signal))),
    });
  return checks;
}

async function outputSchema(
  format: RegisteredFormat,
  registry: SchemaRegistry,
  signal: AbortSignal,
): Promise<Diagnosis> {
  const { subject, codec } = format;
  const found = await explained(schemaState(registry, subject, codec.schema, signal));
  return found.state === 'registered'
    ? ok(`contracts/${codec.file} is version ${found.version} of subject ${subject}`)
    : failed(...outputProblem(found, format));
}

function verdict(found: SourceSchema): Diagnosis {
  switch (found.state) {
    case 'absent':
      return warning(
        `the registry has no ${found.which}: producers use another name, or have written nothing yet`,
        'none, if the newest records can be read',
      );
    case 'readable':
      return ok(`${found.which} can be read`);
    case 'unreadable':
      return failed(`${found.which}: ${found.problem}`, found.remedy ?? '');
  }
}
