/**
 * Adapter for @kafkajs/confluent-schema-registry. Its requests go through `RegistryHttp`, and share
 * its timeouts, addresses, credentials, metrics and errors. The library collects schemas with their
 * references and parses them. Its method `register` is not used, because it may change a subject's
 * compatibility rule. Its Protobuf support is not used, because it does not write message indexes.
 */
import {
  SchemaRegistry as Library,
  SchemaType as LibraryType,
} from '@kafkajs/confluent-schema-registry';
import { schemaText } from './confluent-registry.ts';
import type { RegistryHttp } from './http.ts';
import { RegistryRefused, RegistryUnavailable, UnusableSchema } from './registry.ts';

type LibrarySchema = Awaited<ReturnType<Library['getSchema']>>;

/**
 * Returns a function that loads a parsed Avro schema by id, or undefined if the registry does not
 * have the id. It rejects with RegistryUnavailable, RegistryRefused, UnusableSchema or the signal's
 * reason.
 */
export function schemaLibrary(http: RegistryHttp, options: object) {
  return async (id: number, signal: AbortSignal): Promise<LibrarySchema | undefined> => {
    const bridge = () => ({
      response: (_next: unknown, _renew: unknown, request: LibraryRequest) =>
        answer(http, request, signal) as Promise<never>,
    });
    // Each schema has its own instance: a shared one would keep all schemas permanently, in
    // addition to SchemaCache. The host is never resolved, because all requests go through the
    // bridge.
    const client = { host: 'http://registry.invalid', middlewares: [bridge] };
    try {
      return await new Library(client, { [LibraryType.AVRO]: options }).getSchema(id);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof RegistryUnavailable || error instanceof UnusableSchema) throw error;
      if (!(error instanceof RegistryRefused))
        throw new UnusableSchema(error instanceof Error ? error.message : 'it cannot be parsed');
      if (error.isUnknown) return undefined;
      throw error;
    }
  };
}

/** Part of mappersmith's request that middlewares receive. */
interface LibraryRequest {
  path(): string;
  params(): Readonly<Record<string, unknown>>;
}

async function answer(
  http: RegistryHttp,
  request: LibraryRequest,
  signal: AbortSignal,
): Promise<{ data(): unknown }> {
  const { id, subject } = request.params();
  const path = request.path().replace(/\?.*$/, '');
  const operation = id === undefined ? 'version' : 'schema';
  try {
    const found = await http.ask({ operation, path }, signal);
    schemaText(found, 'AVRO');
    return { data: () => found };
  } catch (error) {
    if (!(error instanceof RegistryRefused && error.isUnknown) || id !== undefined) throw error;
    const version = path.split('/').at(-1);
    throw new UnusableSchema(
      `it refers to version ${version} of subject ${subject}, which the registry does not have`,
    );
  }
}
