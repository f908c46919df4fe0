/** Schemas as a Confluent-compatible registry keeps them, and the registry as the connector uses it. */

export type SchemaType = 'AVRO' | 'JSON' | 'PROTOBUF';

/** A schema by the name that another schema imports it under. */
export interface SchemaReference {
  readonly name: string;
  readonly subject: string;
  readonly version: number;
}

/** Schema that is registered under an id, or is to be. */
export interface SchemaText {
  readonly type: SchemaType;
  readonly text: string;
  readonly references: readonly SchemaReference[];
}

interface RegisteredSchema extends SchemaText {
  readonly id: number;
}

/** A version of a subject. */
export interface SubjectVersion extends RegisteredSchema {
  readonly subject: string;
  readonly version: number;
}

/** Another schema, by the name that it is imported under. */
export interface ImportedSchema {
  readonly name: string;
  readonly text: string;
}

/** A schema with everything it refers to, directly or through others: each name once, those that are referred to first. */
export interface ResolvedSchema extends RegisteredSchema {
  readonly imports: readonly ImportedSchema[];
}

/** Verdict of the registry on a schema that would become a subject's next version. */
export interface Compatibility {
  readonly compatible: boolean;
  /** Reasons, in the registry's words; some registries give more of them than others. */
  readonly messages: readonly string[];
}

export type NewSchema = Pick<SchemaText, 'type' | 'text'> & Partial<SchemaText>;

/**
 * A Confluent-compatible schema registry: one try per call. Every call may throw
 * RegistryUnavailable (retry later), RegistryRefused or the signal's reason; a missing schema,
 * subject or version is `undefined`.
 */
export interface SchemaRegistry {
  /** The schema of an id with everything that it refers to. @throws UnusableSchema when a reference leads nowhere */
  byId(id: number, signal: AbortSignal): Promise<ResolvedSchema | undefined>;
  version(
    subject: string,
    version: number | 'latest',
    signal: AbortSignal,
  ): Promise<SubjectVersion | undefined>;
  /** The version of a subject that is this schema. Registries compare parsed schemas, not texts. */
  lookup(
    subject: string,
    schema: NewSchema,
    signal: AbortSignal,
  ): Promise<SubjectVersion | undefined>;
  /**
   * Checks the schema against the subject's latest version, by the subject's rule; under a
   * transitive rule `register` checks the others too. A subject without versions accepts any.
   */
  compatibility(subject: string, schema: NewSchema, signal: AbortSignal): Promise<Compatibility>;
  /**
   * Makes the schema the subject's next version, unless it is one already. Changes no rule of the
   * subject. For the command line at deploy time alone. @returns the id
   */
  register(subject: string, schema: NewSchema, signal: AbortSignal): Promise<number>;
  /** Cancels pending requests and frees the connections. Repeatable. */
  close(): Promise<void>;
}
