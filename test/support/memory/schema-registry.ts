/** Schema registry in memory, with the interface of a real registry (test/conformance/schema-registry.suite.ts). */
import avsc from 'avsc';
import {
  RegistryRefused,
  RegistryUnavailable,
  type SchemaRegistry,
} from '../../../src/events/registry/index.ts';
import type {
  Compatibility,
  NewSchema,
  ResolvedSchema,
  SubjectVersion,
} from '../../../src/events/registry/registry.ts';

type Rule = 'BACKWARD' | 'BACKWARD_TRANSITIVE';

export class MemoryRegistry implements SchemaRegistry {
  readonly #subjects = new Map<string, SubjectVersion[]>();
  readonly #ids = new Map<string, number>();
  /** Log of calls, in order: `lookup posts-value`. */
  readonly calls: string[] = [];
  /** Error that every call throws while it is set. */
  failure: Error | undefined;
  readonly #rules = new Map<string, Rule>();
  /** Decides whether a schema may follow the latest version of a subject without a rule. Default: if the types are equal. */
  judge: (latest: NewSchema, next: NewSchema) => Compatibility = (latest, next) =>
    latest.type === next.type
      ? { compatible: true, messages: [] }
      : { compatible: false, messages: ['another type'] };
  readOnly = false;

  down(): void {
    this.failure = new RegistryUnavailable(
      'network',
      'no connection to the registry (ECONNREFUSED)',
    );
  }

  async byId(id: number, signal: AbortSignal): Promise<ResolvedSchema | undefined> {
    this.#called(`byId ${id}`, signal);
    const found = [...this.#subjects.values()].flat().find((one) => one.id === id);
    return found === undefined
      ? undefined
      : { id, type: found.type, text: found.text, references: found.references, imports: [] };
  }

  async versions(subject: string, signal: AbortSignal): Promise<readonly number[] | undefined> {
    this.#called(`versions ${subject}`, signal);
    return this.#subjects.get(subject)?.map(({ version }) => version);
  }

  async version(
    subject: string,
    version: number | 'latest',
    signal: AbortSignal,
  ): Promise<SubjectVersion | undefined> {
    this.#called(`version ${subject} ${version}`, signal);
    const versions = this.#subjects.get(subject) ?? [];
    return version === 'latest' ? versions.at(-1) : versions.find((one) => one.version === version);
  }

  async lookup(
    subject: string,
    schema: NewSchema,
    signal: AbortSignal,
  ): Promise<SubjectVersion | undefined> {
    this.#called(`lookup ${subject}`, signal);
    return this.#subjects
      .get(subject)
      ?.find(({ type, text }) => meaning({ type, text }) === meaning(schema));
  }

  async compatibility(
    subject: string,
    schema: NewSchema,
    signal: AbortSignal,
  ): Promise<Compatibility> {
    this.#called(`compatibility ${subject}`, signal);
    return this.#judged(this.#subjects.get(subject)?.slice(-1) ?? [], subject, schema);
  }

  async register(subject: string, schema: NewSchema, signal: AbortSignal): Promise<number> {
    this.#called(`register ${subject}`, signal);
    const versions = this.#subjects.get(subject) ?? [];
    const there = versions.find(({ type, text }) => meaning({ type, text }) === meaning(schema));
    if (there !== undefined) return there.id;
    if (this.readOnly)
      throw new RegistryRefused(422, 42_205, `Subject ${subject} is in read-only mode`);
    const latest = versions.at(-1);
    const transitive = this.#rules.get(subject) === 'BACKWARD_TRANSITIVE';
    if (!this.#judged(transitive ? versions : versions.slice(-1), subject, schema).compatible)
      throw new RegistryRefused(409, 409, 'Schema is incompatible');
    const id = this.#ids.get(meaning(schema)) ?? this.#ids.size + 1;
    this.#ids.set(meaning(schema), id);
    const { type, text, references = [] } = schema;
    this.#subjects.set(subject, [
      ...versions,
      { subject, version: (latest?.version ?? 0) + 1, id, type, text, references },
    ]);
    return id;
  }

  /** Checks the subject's Avro schemas by Avro's compatibility rules from now on. */
  setRule(subject: string, rule: Rule): void {
    this.#rules.set(subject, rule);
  }

  #judged(against: readonly SubjectVersion[], subject: string, schema: NewSchema): Compatibility {
    const rule = this.#rules.get(subject);
    const found = against.map((one) =>
      rule === undefined ? this.judge(one, schema) : readable(one, schema),
    );
    return {
      compatible: found.every(({ compatible }) => compatible),
      messages: found.flatMap(({ messages }) => messages),
    };
  }

  async close(): Promise<void> {}

  #called(call: string, signal: AbortSignal): void {
    signal.throwIfAborted();
    this.calls.push(call);
    if (this.failure !== undefined) throw this.failure;
  }
}

function readable(writer: NewSchema, reader: NewSchema): Compatibility {
  try {
    const [from, to] = [writer, reader].map(({ text }) => avsc.Type.forSchema(JSON.parse(text)));
    to?.createResolver(from as avsc.Type);
    return { compatible: true, messages: [] };
  } catch (error) {
    return { compatible: false, messages: [(error as Error).message] };
  }
}

/** Returns the normalized text of a schema, because registries ignore its layout. */
function meaning({ type, text }: NewSchema): string {
  return `${type} ${type === 'PROTOBUF' ? text.replaceAll(/\/\/.*$/gm, '').replaceAll(/\s+/g, ' ') : JSON.stringify(JSON.parse(text))}`;
}
