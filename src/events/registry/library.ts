/**
 * @kafkajs/confluent-schema-registry over this connector's HTTP: its requests go through
 * `RegistryHttp`, with the time limits, addresses, credentials, metrics and errors of all others.
 * The library collects schemas with their references and understands them.
 *
 * Not used of it: `register`, which may change a subject's compatibility rule; Protobuf, whose
 * message indexes it does not write.
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
 * Loader of Avro schemas by id, as the library understands them; undefined when the registry does
 * not know the id. It rejects with RegistryUnavailable, RegistryRefused, UnusableSchema or the
 * signal's reason.
 */
export function schemaLibrary(http: RegistryHttp, options: object) {
  return async (id: number, signal: AbortSignal): Promise<LibrarySchema | undefined> => {
    const bridge = () => ({
      response: (_next: unknown, _renew: unknown, request: LibraryRequest) =>
        answer(http, request, signal) as Promise<never>,
    });
    // One for each schema: it would keep all of them permanently, and SchemaCache keeps them too.
    // The host is never looked up: nothing goes past the bridge.
    const client = { host: 'http://registry.invalid', middlewares: [bridge] };
    try {
      return await new Library(client, { [LibraryType.AVRO]: options }).getSchema(id);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof RegistryUnavailable || error instanceof UnusableSchema) throw error;
      if (!(error instanceof RegistryRefused))
        throw new UnusableSchema(error instanceof Error ? error.message : 'it is not understood');
      if (error.isUnknown) return undefined;
      throw error;
    }
  };
}

/** Part of mappersmith's request, which the library hands to its middlewares. */
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
