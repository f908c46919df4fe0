/** Schemas as a Confluent-compatible registry keeps them, and the settings and failures of its client. */
import type { Backoff } from '../../../packages/client/src/base/backoff.ts';
import type { Clock, Random } from '../../../packages/client/src/base/clock.ts';
import type { HttpExchange } from '../../core/ports/http.ts';

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

// Settings of the client of a registry. Durations are in milliseconds.

type RegistryCredentials =
  | { readonly kind: 'none' }
  /** Read for each request, so that a rotated secret is picked up. */
  | { readonly kind: 'basic'; readonly user: string; password(): Promise<string> }
  | { readonly kind: 'bearer'; token(): Promise<string> };

/**
 * Receives the traffic of the client, for metrics and health. Called synchronously; must not
 * throw. Nothing in it is a secret (I6).
 */
export interface RegistryObserver {
  /** Called after one exchange. `code` is the HTTP status, or RegistryUnavailable.code. */
  request(operation: RegistryOperation, code: string): void;
  /** Called each time that a schema is needed and the registry cannot answer. */
  unavailable(reason: string): void;
  /** Called when it answers again, or the schema is no longer needed. */
  available(): void;
}

export type RegistryOperation = 'schema' | 'version' | 'lookup' | 'compatibility' | 'register';

export interface RegistrySettings {
  /** http(s) addresses that the paths of the API are relative to; the last that answered is first. */
  readonly urls: readonly string[];
  readonly credentials: RegistryCredentials;
  /** Opens the connections; called once, at the first request. @throws TypeError fit to be shown */
  readonly open: () => HttpExchange;
  /** The whole of one request at one address. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly random: Pick<Random, 'next'>;
  readonly observer?: RegistryObserver;
  /** Pauses between tries while the registry is not available. Default 250 ms to 15 s. */
  readonly backoff?: Backoff;
}

// Failures of a registry. Messages hold no schema, no credentials and no address with a query (I6).

/**
 * No answer: network, timeout, 5xx, 429, or credentials that the registry refuses (401, 403). It
 * proves nothing about the record that needs the schema: the request is retried.
 */
export class RegistryUnavailable extends Error {
  override readonly name = 'RegistryUnavailable';
  /** HTTP status, or the cause of a missing answer: a closed list, fit for a metric label. */
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** 4xx with an error code of the registry: permanent. */
export class RegistryRefused extends Error {
  override readonly name = 'RegistryRefused';
  readonly status: number;
  /** The registry's own, such as 40403. */
  readonly errorCode: number;

  constructor(status: number, errorCode: number, message: string) {
    super(message);
    this.status = status;
    this.errorCode = errorCode;
  }

  /** 404: there is no such schema, subject or version (yet). */
  get isUnknown(): boolean {
    return this.status === 404;
  }
}

/** Part of a library's message that is shown: it may quote the schema. */
const MAX_MESSAGE_CHARACTERS = 300;

/** A schema that cannot be used: of another type, not understood, or with a missing import. */
export class UnusableSchema extends Error {
  override readonly name = 'UnusableSchema';

  constructor(message: string) {
    super(message.slice(0, MAX_MESSAGE_CHARACTERS));
  }
}
