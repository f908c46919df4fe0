/** How a schema stands with its subject: what `schemas check`, `schemas register` and the start of `run` ask the registry. */
import type { NewSchema, SchemaRegistry } from '../../registry/index.ts';

export type SchemaState =
  /** It is a version of the subject; perhaps not the latest one, which may have grown since. */
  | {
      readonly state: 'registered';
      readonly version: number;
      readonly id: number;
      readonly latest: number;
    }
  /** The subject has no version. */
  | { readonly state: 'new' }
  /** It may become the next version, by the subject's rule. */
  | { readonly state: 'compatible'; readonly latest: number }
  | {
      readonly state: 'incompatible';
      readonly latest: number;
      readonly messages: readonly string[];
    };

/** Reads only. @throws RegistryUnavailable, RegistryRefused, the signal's reason */
export async function schemaState(
  registry: SchemaRegistry,
  subject: string,
  schema: NewSchema,
  signal: AbortSignal,
): Promise<SchemaState> {
  const found = await registry.lookup(subject, schema, signal);
  const latest = await registry.version(subject, 'latest', signal);
  if (found !== undefined) {
    const { version, id } = found;
    return { state: 'registered', version, id, latest: latest?.version ?? version };
  }
  if (latest === undefined) return { state: 'new' };
  const { compatible, messages } = await registry.compatibility(subject, schema, signal);
  return compatible
    ? { state: 'compatible', latest: latest.version }
    : { state: 'incompatible', latest: latest.version, messages };
}
