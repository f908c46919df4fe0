/** Schemas of the pipelines' outputs in the registry: checked and registered at deploy time, never by a running connector. */
import type { Config } from '../../config/schema.ts';
import {
  type RegisteredFormat,
  type SchemaState,
  schemaState,
} from '../../events/formats/output/index.ts';
import type { SchemaRegistry } from '../../events/registry/index.ts';
import { InspectError } from '../../tools/inspect/context.ts';
import { registryProblem, schemaRegistry } from '../clients/schema-registry.ts';
import { outputFormatOf } from './output-formats.ts';

export interface SchemaReport {
  readonly pipeline: string;
  readonly format: string;
  readonly subject: string;
  /** The schema's file. */
  readonly file: string;
  /** `registered` by this command: before it was `new` or `compatible`. */
  readonly state: SchemaState['state'];
  readonly registeredNow: boolean;
  /** null when it is not registered, or the registry does not return it yet. */
  readonly version: number | null;
  readonly id: number | null;
  /** Latest version of the subject; null when it has none. */
  readonly latest: number | null;
  /** Reasons for an incompatibility, in the registry's words. */
  readonly messages: readonly string[];
}

/**
 * One report per output with a schema in the registry, in the order of the configuration.
 * @param register whether to register schemas that are missing and compatible
 * @throws InspectError when the registry cannot be reached, or refuses
 */
export async function schemaReports(
  config: Config,
  register: boolean,
  signal: AbortSignal,
): Promise<SchemaReport[]> {
  const registry = schemaRegistry(config);
  if (registry === undefined) return [];
  try {
    const reports: SchemaReport[] = [];
    for (const pipeline of config.pipelines) {
      const format = outputFormatOf(pipeline);
      if (format === undefined) continue;
      const { urls } = config.schemaRegistry;
      reports.push(await schemaReport(pipeline.name, format, registry, register, urls, signal));
    }
    return reports;
  } finally {
    await registry.close();
  }
}

/** @throws InspectError when the registry cannot be reached, or refuses */
async function schemaReport(
  pipeline: string,
  format: RegisteredFormat,
  registry: SchemaRegistry,
  register: boolean,
  urls: readonly string[],
  signal: AbortSignal,
): Promise<SchemaReport> {
  const { subject, codec, name } = format;
  const about = { pipeline, format: name, subject, file: `contracts/${codec.file}` };
  try {
    const before = await schemaState(registry, subject, codec.schema, signal);
    if (!register || before.state === 'registered' || before.state === 'incompatible')
      return { ...about, ...known(before), registeredNow: false };
    const id = await registry.register(subject, codec.schema, signal);
    const after = await schemaState(registry, subject, codec.schema, signal);
    // A replica of the registry may not have it yet.
    return { ...about, ...known(after), state: 'registered', registeredNow: true, id };
  } catch (error) {
    const problem = registryProblem(error, register ? 'write' : 'read');
    if (problem === undefined) throw error;
    const failure = problem.isRefusal ? 'refused' : 'unreachable';
    const why = problem.why + (problem.isRefusal ? '' : `; addresses tried: ${urls.join(', ')}`);
    throw new InspectError(failure, `pipeline ${pipeline}, subject ${subject}: ${why}`, {
      cause: error,
    });
  }
}

const known = (state: SchemaState) => ({
  version: null,
  id: null,
  latest: null,
  messages: [],
  ...state,
});
