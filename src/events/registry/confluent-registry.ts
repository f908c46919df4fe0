/**
 * Client for a part of Confluent's registry API:
 * https://docs.confluent.io/platform/current/schema-registry/develop/api.html
 */

import { RegistryHttp, type RegistryRequest } from './http.ts';
import {
  type Compatibility,
  type ImportedSchema,
  type NewSchema,
  RegistryRefused,
  type RegistrySettings,
  RegistryUnavailable,
  type ResolvedSchema,
  type SchemaReference,
  type SchemaText,
  type SchemaType,
  type SubjectVersion,
  UnusableSchema,
} from './registry.ts';

/** Maximum number of direct and indirect references. */
const MAX_IMPORTS = 1_000;

/**
 * Registry client that tries each call once. Calls reject with RegistryUnavailable (retry later),
 * RegistryRefused or the signal's reason. They return undefined for a missing schema, subject or
 * version.
 */
export class ConfluentRegistry {
  readonly settings: RegistrySettings;
  /** Also used by library.ts, another client of the same API. */
  readonly http: RegistryHttp;

  constructor(settings: RegistrySettings) {
    this.settings = settings;
    this.http = new RegistryHttp(settings);
  }

  /**
   * Returns a schema by its id, with every schema to which it refers.
   * @param wanted required type
   * @throws UnusableSchema if the schema has another type, or a referenced schema is missing
   */
  async byId(
    id: number,
    signal: AbortSignal,
    wanted?: SchemaType,
  ): Promise<ResolvedSchema | undefined> {
    const found = await this.#find({ operation: 'schema', path: `/schemas/ids/${id}` }, signal);
    if (found === undefined) return undefined;
    const schema = schemaText(found, wanted);
    const imports: ImportedSchema[] = [];
    await this.#collect(schema.references, imports, new Set(), signal);
    return { id, ...schema, imports };
  }

  async version(
    subject: string,
    version: number | 'latest',
    signal: AbortSignal,
  ): Promise<SubjectVersion | undefined> {
    const path = `${subjectPath(subject)}/versions/${version}`;
    const found = await this.#find({ operation: 'version', path }, signal);
    return found && subjectVersion(subject, found);
  }

  /** Returns the version of a subject that equals this schema. Registries compare parsed schemas, not their texts. */
  async lookup(
    subject: string,
    schema: NewSchema,
    signal: AbortSignal,
  ): Promise<SubjectVersion | undefined> {
    const path = subjectPath(subject);
    const found = await this.#find({ operation: 'lookup', path, body: bodyOf(schema) }, signal);
    const asked = { schema: schema.text, schemaType: schema.type };
    return found && subjectVersion(subject, { ...asked, ...found });
  }

  /**
   * Checks a schema against the latest version of the subject, by the subject's compatibility rule.
   * If the rule is transitive, only `register` checks earlier versions too. A subject without
   * versions accepts any schema.
   */
  async compatibility(
    subject: string,
    schema: NewSchema,
    signal: AbortSignal,
  ): Promise<Compatibility> {
    // Checks only the latest version, so that all registries agree. Otherwise Apicurio checks all
    // versions under any rule.
    const path = `/compatibility${subjectPath(subject)}/versions/latest?verbose=true`;
    const request = { operation: 'compatibility', path, body: bodyOf(schema) } as const;
    const found = await this.#find(request, signal);
    if (found === undefined) return { compatible: true, messages: [] };
    const { is_compatible: compatible, messages, reason } = found;
    if (typeof compatible !== 'boolean') throw notARegistry();
    const reasons = Array.isArray(messages) ? messages : [reason];
    return { compatible, messages: reasons.filter((one) => typeof one === 'string') };
  }

  /**
   * Registers a schema as the next version of a subject, unless the subject already has it. Does
   * not change the subject's rules. Used only by the command line at deploy time.
   * @returns the schema id
   */
  async register(subject: string, schema: NewSchema, signal: AbortSignal): Promise<number> {
    const path = `${subjectPath(subject)}/versions`;
    const request = { operation: 'register', path, body: bodyOf(schema) } as const;
    const { id } = (await this.http.ask(request, signal)) as Answer;
    if (typeof id !== 'number') throw notARegistry();
    return id;
  }

  /** Cancels pending requests and frees the connections. Idempotent. */
  close(): Promise<void> {
    return this.http.close();
  }

  /** Returns undefined for a 404 from the registry itself, but not for one from a proxy. */
  async #find(request: RegistryRequest, signal: AbortSignal): Promise<Answer | undefined> {
    try {
      return (await this.http.ask(request, signal)) as Answer;
    } catch (error) {
      if (error instanceof RegistryRefused && error.isUnknown) return undefined;
      throw error;
    }
  }

  /** Collects references depth first, so that imported schemas come before those that import them. */
  async #collect(
    references: readonly SchemaReference[],
    imports: ImportedSchema[],
    seen: Set<string>,
    signal: AbortSignal,
  ): Promise<void> {
    for (const { name, subject, version } of references) {
      if (seen.has(name)) continue;
      if (seen.size >= MAX_IMPORTS)
        throw new UnusableSchema(`it refers to more than ${MAX_IMPORTS} schemas`);
      seen.add(name);
      const found = await this.version(subject, version, signal);
      if (found === undefined) {
        throw new UnusableSchema(
          `it refers to version ${version} of subject ${subject}, which the registry does not have`,
        );
      }
      await this.#collect(found.references, imports, seen, signal);
      imports.push({ name, text: found.text });
    }
  }
}

/** Methods of a registry client that its callers need. */
export type SchemaRegistry = Pick<
  ConfluentRegistry,
  'byId' | 'version' | 'lookup' | 'compatibility' | 'register' | 'close'
>;

type Answer = Readonly<Record<string, unknown>>;

function subjectPath(subject: string): string {
  return `/subjects/${encodeURIComponent(subject)}`;
}

/** Returns a request body. The type AVRO is left out, because older registries accept it only as the default. */
function bodyOf({ type, text, references = [] }: NewSchema): object {
  return {
    schema: text,
    ...(type === 'AVRO' ? {} : { schemaType: type }),
    ...(references.length === 0 ? {} : { references }),
  };
}

function subjectVersion(subject: string, answer: Answer): SubjectVersion {
  const { id, version } = answer;
  if (typeof id !== 'number' || typeof version !== 'number') throw notARegistry();
  return { subject, version, id, ...schemaText(answer) };
}

/**
 * Returns the schema in a response.
 * @throws RegistryUnavailable if there is no schema, UnusableSchema for one of another type
 */
export function schemaText(answer: unknown, wanted?: SchemaType): SchemaText {
  const { schema, schemaType, references } = Object(answer) as Answer;
  if (typeof schema !== 'string') throw notARegistry();
  const type = String(schemaType ?? 'AVRO') as SchemaType;
  if (wanted !== undefined && type !== wanted)
    throw new UnusableSchema(`it is ${type}, but the source is configured as ${wanted}`);
  return {
    type,
    text: schema,
    references: Array.isArray(references) ? references : [],
  };
}

function notARegistry(): RegistryUnavailable {
  return new RegistryUnavailable('bad_answer', 'the response is not from a schema registry');
}
