/** Types of schemas in a Confluent-compatible registry, and the settings and errors of its client. */
import type { Backoff } from '../../../packages/client/src/base/backoff.ts';
import type { Clock, Random } from '../../../packages/client/src/base/clock.ts';
import type { HttpPool } from '../../../packages/client/src/http/http.ts';

export type SchemaType = 'AVRO' | 'JSON' | 'PROTOBUF';

/** Reference to a schema, with the name under which another schema imports it. */
export interface SchemaReference {
  readonly name: string;
  readonly subject: string;
  readonly version: number;
}

/** Schema to register, or one that is registered. */
export interface SchemaText {
  readonly type: SchemaType;
  readonly text: string;
  readonly references: readonly SchemaReference[];
}

interface RegisteredSchema extends SchemaText {
  readonly id: number;
}

/** Version of a subject. */
export interface SubjectVersion extends RegisteredSchema {
  readonly subject: string;
  readonly version: number;
}

/** Another schema, with the name under which it is imported. */
export interface ImportedSchema {
  readonly name: string;
  readonly text: string;
}

/** Schema with all schemas to which it refers, directly or not. Each name occurs once, referenced schemas first. */
export interface ResolvedSchema extends RegisteredSchema {
  readonly imports: readonly ImportedSchema[];
}

/** Result of a compatibility check: whether the registry would accept a schema as the next version of a subject. */
export interface Compatibility {
  readonly compatible: boolean;
  /** Reasons in the registry's words. How detailed they are depends on the registry. */
  readonly messages: readonly string[];
}

export type NewSchema = Pick<SchemaText, 'type' | 'text'> & Partial<SchemaText>;

// Settings of a registry client. Durations are in milliseconds.

type RegistryCredentials =
  | { readonly kind: 'none' }
  /** Called for each request, so that rotated secrets take effect. */
  | { readonly kind: 'basic'; readonly user: string; password(): Promise<string> }
  | { readonly kind: 'bearer'; token(): Promise<string> };

/**
 * Observer of the client's requests, for metrics and health. Its methods are called synchronously
 * and must not throw. They receive no secrets (I6).
 */
export interface RegistryObserver {
  /** Called after each exchange. `code` is the HTTP status or RegistryUnavailable.code. */
  request(operation: RegistryOperation, code: string): void;
  /** Called after each failed attempt to load a schema. */
  unavailable(reason: string): void;
  /** Called when the registry responds again, or the schema is no longer needed. */
  available(): void;
}

export type RegistryOperation = 'schema' | 'version' | 'lookup' | 'compatibility' | 'register';

export interface RegistrySettings {
  /** http(s) base addresses of the API. The one that responded last is tried first. */
  readonly urls: readonly string[];
  readonly credentials: RegistryCredentials;
  /** Opens the connections; called once, at the first request. @throws TypeError whose message may be shown */
  readonly open: () => HttpPool;
  /** Maximum time for one request at one address. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly random: Pick<Random, 'next'>;
  readonly observer?: RegistryObserver;
  /** Pauses between attempts while the registry is unavailable. Default 250 ms to 15 s. */
  readonly backoff?: Backoff;
}

// Errors of a registry client. Messages contain no schema, credentials or query string (I6).

/**
 * The registry is unavailable: network error, timeout, 5xx, 429, or rejected credentials (401,
 * 403). This does not depend on the record that needs the schema, so the request is retried.
 */
export class RegistryUnavailable extends Error {
  override readonly name = 'RegistryUnavailable';
  /** HTTP status, or the reason for a missing response. There are few different codes, so it can be a metric label. */
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** The registry rejects a request with 4xx and one of its own error codes. Permanent. */
export class RegistryRefused extends Error {
  override readonly name = 'RegistryRefused';
  readonly status: number;
  /** The registry's error code, such as 40403. */
  readonly errorCode: number;

  constructor(status: number, errorCode: number, message: string) {
    super(message);
    this.status = status;
    this.errorCode = errorCode;
  }

  /** True for 404: the schema, subject or version does not exist at present. */
  get isUnknown(): boolean {
    return this.status === 404;
  }
}

/** Maximum length of a library's message, because it may quote the whole schema. */
const MAX_MESSAGE_CHARACTERS = 300;

/** A schema that cannot be used: it has the wrong type, cannot be parsed, or lacks an imported schema. */
export class UnusableSchema extends Error {
  override readonly name = 'UnusableSchema';

  constructor(message: string) {
    super(message.slice(0, MAX_MESSAGE_CHARACTERS));
  }
}
