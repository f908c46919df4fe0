/** The schemas of the pipelines' outputs in the registry: checked, and registered. At deploy time: a running connector never does. */
import { ok } from '../../base/result.ts';
import { choosePipeline } from '../../config/choose-pipeline.ts';
import type { Config } from '../../config/schema.ts';
import {
  RegisteredFormat,
  type SchemaState,
  schemaState,
} from '../../events/formats/output/index.ts';
import { RegistryUnavailable, type SchemaRegistry } from '../../events/registry/index.ts';
import { InspectError } from '../../tools/inspect/context.ts';
import { registryRefusal } from '../clients/registry-refusal.ts';
import { schemaRegistry } from '../clients/schema-registry.ts';
import { outputFormatOf } from './output-formats.ts';

export interface SchemaReport {
  readonly pipeline: string;
  readonly format: string;
  readonly subject: string;
  /** The schema's file. */
  readonly file: string;
  /** `registered` by this command: before it was `new` or `compatible`. */
  readonly state: SchemaState['state'];
  /** Whether this command registered it. */
  readonly registeredNow: boolean;
  /** null when it is not registered, or the registry does not tell yet. */
  readonly version: number | null;
  readonly id: number | null;
  /** Latest version of the subject; null when it has none. */
  readonly latest: number | null;
  /** Why it is incompatible, in the registry's words. */
  readonly messages: readonly string[];
}

/** The pipelines that write by a schema registry. @throws InspectError for a name that none has */
export function registeredOutputs(config: Config, name: string | undefined) {
  const chosen = name === undefined ? ok(config.pipelines) : choosePipeline(config, name);
  if (!chosen.ok) throw new InspectError('usage', chosen.error);
  return [chosen.value].flat().flatMap((pipeline) => {
    const format = outputFormatOf(pipeline);
    return format instanceof RegisteredFormat ? [{ pipeline: pipeline.name, format }] : [];
  });
}

/**
 * One report per pipeline with a schema, in the order of the configuration.
 * @param register whether to register what is missing and may be registered
 * @throws InspectError when the registry cannot be reached, or refuses
 */
export async function schemaReports(
  config: Config,
  options: { readonly pipeline: string | undefined; readonly register: boolean },
  signal: AbortSignal,
): Promise<SchemaReport[]> {
  const outputs = registeredOutputs(config, options.pipeline);
  const registry = schemaRegistry(config);
  if (registry === undefined) return [];
  try {
    const reports: SchemaReport[] = [];
    for (const { pipeline, format } of outputs) {
      const about = `pipeline ${pipeline}, subject ${format.subject}`;
      reports.push(
        await explained(about, options.register, config.schemaRegistry.urls, () =>
          report(registry, pipeline, format, options.register, signal),
        ),
      );
    }
    return reports;
  } finally {
    await registry.close();
  }
}

async function report(
  registry: SchemaRegistry,
  pipeline: string,
  format: RegisteredFormat,
  register: boolean,
  signal: AbortSignal,
): Promise<SchemaReport> {
  const { subject, codec, name } = format;
  const before = await schemaState(registry, subject, codec.schema, signal);
  const about = { pipeline, format: name, subject, file: `contracts/${codec.file}` };
  if (!register || before.state === 'registered' || before.state === 'incompatible')
    return { ...about, ...known(before) };
  const id = await registry.register(subject, codec.schema, signal);
  const after = await schemaState(registry, subject, codec.schema, signal);
  // A replica of the registry may not have it yet.
  return { ...about, ...known(after), state: 'registered', registeredNow: true, id };
}

function known(state: SchemaState) {
  return {
    state: state.state,
    registeredNow: false,
    version: state.state === 'registered' ? state.version : null,
    id: state.state === 'registered' ? state.id : null,
    latest: state.state === 'new' ? null : state.latest,
    messages: state.state === 'incompatible' ? state.messages : [],
  };
}

async function explained<T>(
  about: string,
  register: boolean,
  urls: readonly string[],
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const refusal = registryRefusal(error, register ? 'write' : 'read');
    if (refusal !== undefined)
      throw new InspectError('refused', `${about}: ${refusal}`, { cause: error });
    if (error instanceof RegistryUnavailable) {
      throw new InspectError(
        'unreachable',
        `${about}: ${error.message}; asked: ${urls.join(', ')}`,
        { cause: error },
      );
    }
    throw error;
  }
}
