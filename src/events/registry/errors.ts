/** Failures of a registry. Messages hold no schema, no credentials and no address with a query (I6). */

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
