/** Schemas as a Confluent-compatible registry keeps them. */

export type SchemaType = 'AVRO' | 'JSON' | 'PROTOBUF';

/** A schema by the name that another schema imports it under. */
export interface SchemaReference {
  readonly name: string;
  readonly subject: string;
  readonly version: number;
}

/** What is registered under an id, or is to be. */
export interface SchemaText {
  readonly type: SchemaType;
  readonly text: string;
  readonly references: readonly SchemaReference[];
}

export interface RegisteredSchema extends SchemaText {
  readonly id: number;
}

/** A version of a subject. */
export interface SubjectVersion extends RegisteredSchema {
  readonly subject: string;
  readonly version: number;
}

/** Another schema, by the name that it is imported under. */
export interface ImportedSchema extends SchemaText {
  readonly name: string;
}

/** A schema with everything it refers to, directly or through others: each name once, those that are referred to first. */
export interface ResolvedSchema extends RegisteredSchema {
  readonly imports: readonly ImportedSchema[];
}

/** What the registry says of a schema that would become a subject's next version. */
export interface Compatibility {
  readonly compatible: boolean;
  /** Why not, in the registry's words; registries differ in how much they say. */
  readonly messages: readonly string[];
}

export interface NewSchema {
  readonly type: SchemaType;
  readonly text: string;
  readonly references?: readonly SchemaReference[];
}
