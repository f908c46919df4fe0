/** The part of Confluent's registry API that the connector needs. https://docs.confluent.io/platform/current/schema-registry/develop/api.html */
import { NO_SUCH_PATH, RegistryRefused, RegistryUnavailable, UnusableSchema } from './errors.ts';
import { RegistryHttp } from './http.ts';
import type { SchemaRegistry } from './registry.ts';
import type {
  Compatibility,
  ImportedSchema,
  NewSchema,
  ResolvedSchema,
  SchemaReference,
  SchemaText,
  SchemaType,
  SubjectVersion,
} from './schema.ts';
import type { RegistrySettings } from './settings.ts';

/** References of references: far beyond what anybody writes. */
const MAX_IMPORTS = 1_000;

export class ConfluentRegistry implements SchemaRegistry {
  readonly settings: RegistrySettings;
  /** For those who speak the same API in their own way (library.ts). */
  readonly http: RegistryHttp;

  constructor(settings: RegistrySettings) {
    this.settings = settings;
    this.http = new RegistryHttp(settings);
  }

  async byId(id: number, signal: AbortSignal): Promise<ResolvedSchema | undefined> {
    const found = await knownOnly(
      this.http.ask({ operation: 'schema', method: 'GET', path: `/schemas/ids/${id}` }, signal),
    );
    if (found === undefined) return undefined;
    const schema = schemaText(found);
    const imports = new Map<string, ImportedSchema>();
    await this.#collect(schema.references, imports, signal);
    return { id, ...schema, imports: [...imports.values()] };
  }

  async versions(subject: string, signal: AbortSignal): Promise<readonly number[] | undefined> {
    const path = `${subjectPath(subject)}/versions`;
    const found = await knownOnly(
      this.http.ask({ operation: 'versions', method: 'GET', path }, signal),
    );
    if (found === undefined) return undefined;
    if (!Array.isArray(found)) throw notARegistry();
    return found.map(Number).sort((a, b) => a - b);
  }

  async version(
    subject: string,
    version: number | 'latest',
    signal: AbortSignal,
  ): Promise<SubjectVersion | undefined> {
    const path = `${subjectPath(subject)}/versions/${version}`;
    const found = await knownOnly(
      this.http.ask({ operation: 'version', method: 'GET', path }, signal),
    );
    return found === undefined ? undefined : subjectVersion(subject, found);
  }

  async lookup(
    subject: string,
    schema: NewSchema,
    signal: AbortSignal,
  ): Promise<SubjectVersion | undefined> {
    const request = {
      operation: 'lookup',
      method: 'POST',
      path: subjectPath(subject),
      body: bodyOf(schema),
    } as const;
    const found = await knownOnly(this.http.ask(request, signal));
    return found === undefined
      ? undefined
      : subjectVersion(subject, { schema: schema.text, schemaType: schema.type, ...found });
  }

  /**
   * Confluent asks the versions that the subject's rule names, as registering does. Apicurio asks all of them whatever the rule:
   * when the latest alone would take the schema, the rule decides.
   */
  async compatibility(
    subject: string,
    schema: NewSchema,
    signal: AbortSignal,
  ): Promise<Compatibility> {
    const latest = () => this.#compatibility(subject, '/latest', schema, signal);
    let all: Compatibility;
    try {
      all = await this.#compatibility(subject, '', schema, signal);
    } catch (error) {
      // Registries that know no more than one version at a time.
      if (error instanceof RegistryUnavailable && error.code === NO_SUCH_PATH)
        return await latest();
      throw error;
    }
    if (all.compatible || !(await latest()).compatible) return all;
    const rule = await this.#rule(subject, signal);
    return rule === undefined || rule.endsWith('_TRANSITIVE')
      ? all
      : { compatible: true, messages: [] };
  }

  async #compatibility(
    subject: string,
    version: '' | '/latest',
    schema: NewSchema,
    signal: AbortSignal,
  ): Promise<Compatibility> {
    const path = `/compatibility${subjectPath(subject)}/versions${version}?verbose=true`;
    const request = {
      operation: 'compatibility',
      method: 'POST',
      path,
      body: bodyOf(schema),
    } as const;
    const found = await knownOnly(this.http.ask(request, signal));
    if (found === undefined) return { compatible: true, messages: [] };
    const {
      is_compatible: compatible,
      messages,
      reason,
    } = found as Readonly<Record<string, unknown>>;
    if (typeof compatible !== 'boolean') throw notARegistry();
    const said = Array.isArray(messages) ? messages : [reason];
    return { compatible, messages: said.filter((message) => typeof message === 'string') };
  }

  /** The subject's own, or the registry's, such as BACKWARD; undefined when it does not tell: that may take other rights. */
  async #rule(subject: string, signal: AbortSignal): Promise<string | undefined> {
    const ask = async (path: string): Promise<string | undefined> => {
      const found = await knownOnly(
        this.http.ask({ operation: 'config', method: 'GET', path }, signal),
      );
      const { compatibilityLevel: level } = (found ?? {}) as {
        readonly compatibilityLevel?: unknown;
      };
      return typeof level === 'string' ? level : undefined;
    };
    try {
      const own = await ask(`/config/${encodeURIComponent(subject)}`);
      // Apicurio says NONE of a subject that has none of its own.
      return own === undefined || own === 'NONE' ? ((await ask('/config')) ?? own) : own;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof RegistryUnavailable || error instanceof RegistryRefused)
        return undefined;
      throw error;
    }
  }

  async register(subject: string, schema: NewSchema, signal: AbortSignal): Promise<number> {
    const path = `${subjectPath(subject)}/versions`;
    const found = await this.http.ask(
      { operation: 'register', method: 'POST', path, body: bodyOf(schema) },
      signal,
    );
    const { id } = found as { readonly id?: unknown };
    if (typeof id !== 'number') throw notARegistry();
    return id;
  }

  close(): Promise<void> {
    return this.http.close();
  }

  /** Depth first, so that what is imported comes before what imports it. */
  async #collect(
    references: readonly SchemaReference[],
    imports: Map<string, ImportedSchema>,
    signal: AbortSignal,
    above: ReadonlySet<string> = new Set(),
  ): Promise<void> {
    for (const { name, subject, version } of references) {
      if (imports.has(name) || above.has(name)) continue;
      if (imports.size + above.size >= MAX_IMPORTS)
        throw new UnusableSchema(`it refers to more than ${MAX_IMPORTS} schemas`);
      const found = await this.version(subject, version, signal);
      if (found === undefined) {
        throw new UnusableSchema(
          `it refers to version ${version} of subject ${subject}, which the registry does not have`,
        );
      }
      await this.#collect(found.references, imports, signal, new Set([...above, name]));
      imports.set(name, { name, type: found.type, text: found.text, references: found.references });
    }
  }
}

/** undefined when what was asked for is not there. */
async function knownOnly<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof RegistryRefused && error.isUnknown) return undefined;
    throw error;
  }
}

function subjectPath(subject: string): string {
  return `/subjects/${encodeURIComponent(subject)}`;
}

function bodyOf({ type, text, references = [] }: NewSchema): object {
  // AVRO is what older registries know without its name.
  return {
    schema: text,
    ...(type === 'AVRO' ? {} : { schemaType: type }),
    ...(references.length === 0 ? {} : { references }),
  };
}

function subjectVersion(subject: string, answer: unknown): SubjectVersion {
  const { id, version } = answer as { readonly id?: unknown; readonly version?: unknown };
  if (typeof id !== 'number' || typeof version !== 'number') throw notARegistry();
  return { subject, version, id, ...schemaText(answer) };
}

/** What `GET /schemas/ids/{id}` and its like say. @throws RegistryUnavailable when it is no such answer */
export function schemaText(answer: unknown): SchemaText {
  const { schema, schemaType, references } = (answer ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof schema !== 'string') throw notARegistry();
  return {
    type: (typeof schemaType === 'string' ? schemaType : 'AVRO') as SchemaType,
    text: schema,
    references: Array.isArray(references) ? (references as SchemaReference[]) : [],
  };
}

function notARegistry(): RegistryUnavailable {
  return new RegistryUnavailable('bad_answer', "the answer is not a schema registry's");
}
