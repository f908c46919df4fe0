/** A schema registry in memory, behind the same interface as the real one (test/conformance/schema-registry.suite.ts). */
import { RegistryRefused, RegistryUnavailable, type SchemaRegistry } from '../../../src/registry/index.ts';
import type { Compatibility, NewSchema, ResolvedSchema, SubjectVersion } from '../../../src/registry/schema.ts';

export class MemoryRegistry implements SchemaRegistry {
  readonly #subjects = new Map<string, SubjectVersion[]>();
  readonly #ids = new Map<string, number>();
  /** What each call did, in order: `lookup posts-value`. */
  readonly calls: string[] = [];
  /** Thrown by each call while it is set. */
  failure: Error | undefined;
  /** Whether a schema may follow the latest version; by default any of the same type. */
  judge: (latest: NewSchema, next: NewSchema) => Compatibility = (latest, next) =>
    latest.type === next.type ? { compatible: true, messages: [] } : { compatible: false, messages: ['another type'] };
  readOnly = false;

  down(): void {
    this.failure = new RegistryUnavailable('network', 'no connection to the registry (ECONNREFUSED)');
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

  async version(subject: string, version: number | 'latest', signal: AbortSignal): Promise<SubjectVersion | undefined> {
    this.#called(`version ${subject} ${version}`, signal);
    const versions = this.#subjects.get(subject) ?? [];
    return version === 'latest' ? versions.at(-1) : versions.find((one) => one.version === version);
  }

  async lookup(subject: string, schema: NewSchema, signal: AbortSignal): Promise<SubjectVersion | undefined> {
    this.#called(`lookup ${subject}`, signal);
    return this.#subjects.get(subject)?.find(({ type, text }) => meaning({ type, text }) === meaning(schema));
  }

  async compatibility(subject: string, schema: NewSchema, signal: AbortSignal): Promise<Compatibility> {
    this.#called(`compatibility ${subject}`, signal);
    const latest = this.#subjects.get(subject)?.at(-1);
    return latest === undefined ? { compatible: true, messages: [] } : this.judge(latest, schema);
  }

  async register(subject: string, schema: NewSchema, signal: AbortSignal): Promise<number> {
    this.#called(`register ${subject}`, signal);
    const versions = this.#subjects.get(subject) ?? [];
    const there = versions.find(({ type, text }) => meaning({ type, text }) === meaning(schema));
    if (there !== undefined) return there.id;
    if (this.readOnly) throw new RegistryRefused(422, 42_205, `Subject ${subject} is in read-only mode`);
    const latest = versions.at(-1);
    if (latest !== undefined && !this.judge(latest, schema).compatible)
      throw new RegistryRefused(409, 409, 'Schema is incompatible');
    const id = this.#ids.get(meaning(schema)) ?? this.#ids.size + 1;
    this.#ids.set(meaning(schema), id);
    const { type, text, references = [] } = schema;
    this.#subjects.set(subject, [...versions, { subject, version: (latest?.version ?? 0) + 1, id, type, text, references }]);
    return id;
  }

  async close(): Promise<void> {}

  #called(call: string, signal: AbortSignal): void {
    signal.throwIfAborted();
    this.calls.push(call);
    if (this.failure !== undefined) throw this.failure;
  }
}

/** Registries compare what a schema says, not how it is laid out. */
function meaning({ type, text }: NewSchema): string {
  return `${type} ${type === 'PROTOBUF' ? text.replaceAll(/\/\/.*$/gm, '').replaceAll(/\s+/g, ' ') : JSON.stringify(JSON.parse(text))}`;
}
