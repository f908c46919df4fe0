/** A Confluent-compatible schema registry: one try per call. Waiting for it to come back is `waitForRegistry`'s. */
import type { Compatibility, NewSchema, ResolvedSchema, SubjectVersion } from './schema.ts';

/**
 * Every call may throw RegistryUnavailable (ask again later), RegistryRefused (the registry said no) or the signal's reason.
 * What is asked for and not there is `undefined`.
 */
export interface SchemaRegistry {
  /** The schema of an id with everything that it refers to. @throws UnusableSchema when a reference leads nowhere */
  byId(id: number, signal: AbortSignal): Promise<ResolvedSchema | undefined>;
  /** The versions of a subject, ascending. */
  versions(subject: string, signal: AbortSignal): Promise<readonly number[] | undefined>;
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
  /** Whether the schema may become the subject's next version, by the subject's rule, as `register` judges it. A subject without versions takes any. */
  compatibility(subject: string, schema: NewSchema, signal: AbortSignal): Promise<Compatibility>;
  /**
   * Makes the schema the subject's next version, unless it is one already. Changes no rule of the subject. For the command line
   * at deploy time alone: a running connector registers nothing. @returns the id
   */
  register(subject: string, schema: NewSchema, signal: AbortSignal): Promise<number>;
  /** Ends what is under way and frees the connections. Repeatable. */
  close(): Promise<void>;
}
