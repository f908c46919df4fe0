/**
 * @kafkajs/confluent-schema-registry over our own HTTP: what it asks for goes through `RegistryHttp`, so that its requests have
 * our time limits, addresses, credentials and metrics, and its errors are ours. It fetches schemas with their references,
 * understands them, and keeps them.
 *
 * What it is not asked to do: `register`, which may change a subject's compatibility; Protobuf, whose message indexes it does not
 * know.
 */
import {
  SchemaRegistry as Library,
  SchemaType as LibraryType,
} from '@kafkajs/confluent-schema-registry';
import { schemaText } from './confluent-registry.ts';
import { RegistryRefused, RegistryUnavailable, UnusableSchema } from './errors.ts';
import type { RegistryHttp } from './http.ts';
import type { SchemaType } from './schema.ts';

type LibraryArguments = ConstructorParameters<typeof Library>;
type Middleware = NonNullable<LibraryArguments[0]['middlewares']>[number];
export type LibraryOptions = NonNullable<LibraryArguments[1]>;
export type LibrarySchema = Awaited<ReturnType<Library['getSchema']>>;

/** Schemas that the library may keep: it forgets none by itself. */
const MAX_KEPT = 1_000;
/** Part of the library's own errors that is shown: it may quote the schema. */
const MAX_MESSAGE_CHARACTERS = 300;

export class SchemaLibrary {
  readonly #http: RegistryHttp;
  readonly #type: SchemaType;
  readonly #options: LibraryOptions;
  readonly #closed = new AbortController();
  #library: Library;
  #kept = 0;

  constructor(http: RegistryHttp, type: Exclude<SchemaType, 'PROTOBUF'>, options: LibraryOptions) {
    this.#http = http;
    this.#type = type;
    this.#options = options;
    this.#library = this.#open();
  }

  /**
   * The schema of an id, as the library understands it; undefined when the registry does not know the id.
   * @throws RegistryUnavailable, RegistryRefused, UnusableSchema
   */
  async schema(id: number): Promise<LibrarySchema | undefined> {
    if (this.#kept >= MAX_KEPT) {
      this.#library = this.#open();
      this.#kept = 0;
    }
    try {
      const schema = await this.#library.getSchema(id);
      this.#kept++;
      return schema;
    } catch (error) {
      if (error instanceof RegistryUnavailable || error instanceof UnusableSchema) throw error;
      if (error instanceof RegistryRefused) {
        if (error.isUnknown) return undefined;
        throw error;
      }
      throw new UnusableSchema(
        error instanceof Error
          ? error.message.slice(0, MAX_MESSAGE_CHARACTERS)
          : 'it is not understood',
      );
    }
  }

  /** The library's own encoder and decoder, for schemas that `schema` has loaded. */
  get library(): Library {
    return this.#library;
  }

  close(): void {
    this.#closed.abort(new DOMException('The schema library was closed', 'AbortError'));
  }

  #open(): Library {
    const bridge = () => ({
      response: (_next: unknown, _renew: unknown, request: LibraryRequest) => this.#answer(request),
    });
    // The host is never looked up: nothing goes past the bridge.
    return new Library(
      { host: 'http://registry.invalid', middlewares: [bridge as unknown as Middleware] },
      this.#options,
    );
  }

  async #answer(request: LibraryRequest): Promise<{ data(): unknown }> {
    const { id, name, subject } = request.params();
    const path = request.path().replace(/\?.*$/, '');
    const ask = {
      operation: id === undefined ? 'version' : 'schema',
      method: 'GET',
      path,
    } as const;
    if (request.method().toUpperCase() !== 'GET') throw new Error('the library is to read only');
    try {
      const answer = await this.#http.ask(ask, this.#closed.signal);
      const { type, text } = schemaText(answer);
      if (type !== this.#type)
        throw new UnusableSchema(
          `it is ${type}, and ${this.#type} is what the source is configured as`,
        );
      // JSON Schema: what is referred to by a name finds itself only under an $id.
      const schema = type === 'JSON' && name !== undefined ? withId(text, String(name)) : text;
      return { data: () => ({ ...(answer as object), schema }) };
    } catch (error) {
      if (!(error instanceof RegistryRefused && error.isUnknown) || id !== undefined) throw error;
      throw new UnusableSchema(
        `it refers to version ${path.split('/').at(-1)} of subject ${subject}, which the registry does not have`,
      );
    }
  }
}

/** What is used of mappersmith's request, which the library hands to its middlewares. */
interface LibraryRequest {
  method(): string;
  path(): string;
  params(): Readonly<Record<string, unknown>>;
}

function withId(text: string, name: string): string {
  const schema: unknown = JSON.parse(text);
  const open = typeof schema === 'object' && schema !== null && !('$id' in schema);
  return open ? JSON.stringify({ ...schema, $id: name }) : text;
}

export const AVRO = LibraryType.AVRO;
export const JSON_SCHEMA = LibraryType.JSON;
