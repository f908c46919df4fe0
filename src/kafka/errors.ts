/** Interpretation of kafkajs's errors, and remedies for operators. */
import type { TransactionFailure } from '../core/ports/kafka.ts';
import { CLOSED_IN_HANDSHAKE, SecurityError, tlsRemedy } from './security/security-error.ts';

/** Message of the error that a socket factory throws after its client was closed (connect.ts). */
export const CLIENT_CLOSED = 'this Kafka client is closed';

/** Access that a request needs, as far as its caller specifies it. Used in messages about missing rights (ACLs). */
export interface RequestedAccess {
  /** Operation on the topic: READ, WRITE, DESCRIBE_CONFIGS, CREATE. */
  readonly operation?: string | undefined;
  readonly topic?: string | undefined;
  readonly group?: string | undefined;
  /** Operation on the group: READ, DESCRIBE. */
  readonly groupOperation?: string | undefined;
  /** Journal topic, which must not be replaced by an empty topic. */
  readonly journal?: string | undefined;
  /** Prefix of the transactional ids. */
  readonly transactionalIds?: string | undefined;
  /** Principal of this client at the brokers: `User:…`. */
  readonly principal?: string | undefined;
}

/** Error of kafkajs, its patches or Node. */
type KafkaFailure = Error & {
  readonly type?: unknown;
  readonly code?: unknown;
  readonly errors?: unknown;
  readonly retriable?: unknown;
  /** `host:port` of a connection that failed. */
  readonly broker?: unknown;
  /** Topic that the broker rejected (kafkajs/response-patches.ts). */
  readonly topic?: unknown;
  /** SASL mechanisms that the listener offers (kafkajs/response-patches.ts). */
  readonly offered?: readonly string[];
};

const MAX_CAUSES = 8;

/** Yields the error and its causes, starting with the outermost. */
function* causesOf(error: unknown): Generator<KafkaFailure> {
  let at = error;
  for (let depth = 0; at instanceof Error && depth < MAX_CAUSES; depth++) {
    const { errors, cause } = at as KafkaFailure;
    yield at;
    at = Array.isArray(errors) ? errors[0] : cause;
  }
}

/** Returns the first value that `pick` finds in the error or its causes. */
function firstIn<T>(error: unknown, pick: (cause: KafkaFailure) => T | undefined): T | undefined {
  for (const cause of causesOf(error)) {
    const value = pick(cause);
    if (value !== undefined) return value;
  }
  return undefined;
}

const securityErrorOf = (error: unknown) =>
  firstIn(error, (cause) => (cause instanceof SecurityError ? cause : undefined));

/** Protocol errors after code 88, where kafkajs's table ends, by kafkajs's message. */
const LATER_ERRORS = new Map([['Unknown error code 90', 'PRODUCER_FENCED']]);

/** Returns the name of the protocol error (`MESSAGE_TOO_LARGE`, …) in an error or its causes. */
export function protocolErrorOf(error: unknown): string | undefined {
  return firstIn(error, ({ type, message }) => {
    if (typeof type !== 'string') return undefined;
    return LATER_ERRORS.get(message) ?? type;
  });
}

/** Returns true if the cause of an error is a client that was closed on purpose. */
export function isClientClosed(error: unknown): boolean {
  return [...causesOf(error)].some(({ message }) => message.includes(CLIENT_CLOSED));
}

/** Transient errors that kafkajs's table treats as permanent. */
const TRANSIENT =
  /^(CONCURRENT_TRANSACTIONS|OPERATION_NOT_ATTEMPTED|KafkaJSGroupCoordinatorNotFound|KafkaJSLockTimeout)$/;

/** Returns true if the same request may succeed a moment later. */
export function isTransient(error: unknown): boolean {
  if (isClientClosed(error)) return false;
  const security = securityErrorOf(error);
  if (security !== undefined) return security.retriable;
  const causes = [...causesOf(error)];
  return (
    causes.at(-1)?.retriable === true ||
    causes.some((cause) => TRANSIENT.test(protocolErrorOf(cause) ?? cause.name))
  );
}

const TRANSACTION_FAILURES: readonly (readonly [TransactionFailure, RegExp])[] = [
  [
    'fenced',
    /^(INVALID_PRODUCER_EPOCH|PRODUCER_FENCED|INVALID_PRODUCER_ID_MAPPING|INVALID_TXN_STATE|OUT_OF_ORDER_SEQUENCE_NUMBER|UNKNOWN_PRODUCER_ID)$/,
  ],
  ['too_large', /^(MESSAGE|RECORD_LIST)_TOO_LARGE$/],
  [
    'rejected',
    /_AUTHORIZATION_FAILED$|^(OFFSET_METADATA_TOO_LARGE|INVALID_(RECORD|REQUIRED_ACKS|TRANSACTION_TIMEOUT|TOPIC_EXCEPTION)|POLICY_VIOLATION|UNSUPPORTED_(FOR_MESSAGE_FORMAT|VERSION))$/,
  ],
];

/** Responses to EndTxn which prove that it had no effect. After other errors, the commit may have succeeded. */
const COMMIT_REFUSED = /^(TRANSACTIONAL_ID_AUTHORIZATION_FAILED|UNSUPPORTED_VERSION)$/;

/** Phase of a transaction. In `sending`, no commit has been requested, so nothing can have become visible. */
export type TransactionPhase = 'sending' | 'committing';

export function transactionFailure(error: unknown, phase: TransactionPhase): TransactionFailure {
  const type = protocolErrorOf(error) ?? '';
  const failure = TRANSACTION_FAILURES.find(([, types]) => types.test(type))?.[0];
  if (phase === 'sending' || failure === 'fenced') return failure ?? 'aborted';
  return COMMIT_REFUSED.test(type) ? 'rejected' : 'unknown';
}

const REFUSED =
  /_AUTHORIZATION_FAILED$|^(SASL_AUTHENTICATION_FAILED|ILLEGAL_SASL_STATE|UNSUPPORTED_SASL_MECHANISM|INVALID_TOPIC_EXCEPTION|INVALID_REPLICATION_FACTOR|INVALID_CONFIG|POLICY_VIOLATION)$/;

/**
 * Classifies the failure of a tool's request. `refused`: a retry does not help. `unreachable`: no
 * response arrived in time. undefined: the error does not come from Kafka.
 */
export function requestFailure(error: unknown): 'refused' | 'unreachable' | undefined {
  const security = securityErrorOf(error);
  if (security !== undefined) return security.retriable ? 'unreachable' : 'refused';
  const names = [...causesOf(error)].map(({ name }) => name);
  if (isHandshakeFailure(error) || names.includes('KafkaJSSASLAuthenticationError'))
    return 'refused';
  if (!names.some((name) => name.startsWith('KafkaJS'))) return undefined;
  return REFUSED.test(protocolErrorOf(error) ?? '') ? 'refused' : 'unreachable';
}

const REMEDIES: Readonly<Record<string, string>> = {
  UNKNOWN_TOPIC_OR_PARTITION: 'create the topic, or correct its name',
  INCONSISTENT_GROUP_PROTOCOL:
    'another kind of consumer uses this group id: stop it, or choose another group id',
  INVALID_REPLICATION_FACTOR: 'choose a replication factor that is not above the number of brokers',
  INVALID_SESSION_TIMEOUT:
    "choose a session timeout between the broker's group.min.session.timeout.ms and group.max.session.timeout.ms",
  INVALID_TRANSACTION_TIMEOUT:
    "choose a transaction timeout not above the broker's transaction.max.timeout.ms",
  INVALID_TIMESTAMP:
    "the clock of this machine differs from the brokers' by more than the topic's message.timestamp.after.max.ms or message.timestamp.before.max.ms: correct the clock",
  LEADER_NOT_AVAILABLE: 'start the broker that hosts the partition',
  MESSAGE_TOO_LARGE: "raise the topic's max.message.bytes, or write less per record",
  ILLEGAL_SASL_STATE:
    'this listener does not use SASL: set kafka.sasl.mechanism to none, or use the port of a SASL listener',
  UNSUPPORTED_SASL_MECHANISM: 'choose another kafka.sasl.mechanism',
};

function remedyOf(type: string, error: unknown, access: RequestedAccess): string | undefined {
  const topic = refusedTopic(error) ?? access.topic;
  if (type !== 'UNKNOWN_TOPIC_OR_PARTITION' || topic === undefined) return REMEDIES[type];
  return topic === access.journal
    ? `restore the journal ${topic} (docs/faq.md, "Can I continue without a lost journal?")`
    : `create topic ${topic}, or correct its name`;
}

const refusedTopic = (error: unknown) =>
  firstIn(error, ({ topic }) => (typeof topic === 'string' ? topic : undefined));

/** Missing rights, by the error that reports them. */
const MISSING_RIGHTS: Readonly<
  Record<string, (access: RequestedAccess, refusedTopic: string | undefined) => string>
> = {
  TOPIC_AUTHORIZATION_FAILED: ({ operation, topic }, refusedTopic) =>
    `${operation ?? 'READ, or WRITE,'} on topic ${refusedTopic ?? topic ?? 'of this request'}`,
  GROUP_AUTHORIZATION_FAILED: ({ group, groupOperation }) =>
    `${groupOperation ?? 'READ'} on group ${group ?? 'of this request'}`,
  TRANSACTIONAL_ID_AUTHORIZATION_FAILED: ({ transactionalIds }) =>
    `WRITE on transactional ids that begin with ${transactionalIds ?? "the journal topic's name"}`,
  CLUSTER_AUTHORIZATION_FAILED: () => 'this operation on the cluster',
};

/** Returns a remedy such as `grant WRITE on topic decisions to User:connector (docs/kafka-security.md)`. */
function missingRight(type: string, error: unknown, access: RequestedAccess): string | undefined {
  const right = MISSING_RIGHTS[type]?.(access, refusedTopic(error));
  const principal = access.principal ?? "this client's principal";
  return right && `grant ${right} to ${principal} (docs/kafka-security.md)`;
}

const UNREACHABLE =
  /[Cc]losed connection|Connection (closed|timeout|error)|ECONNREFUSED|ENOTFOUND|ETIMEDOUT|EHOSTUNREACH/;
const CHECK_BROKERS = 'check that the brokers run';

/** Returns one sentence with cause and remedy. It never contains content or secrets. */
export function explain(error: unknown, access: RequestedAccess = {}): string {
  const security = securityErrorOf(error);
  if (security !== undefined) return security.message;
  const type = protocolErrorOf(error);
  const message = error instanceof Error ? error.message : String(error);
  if (type !== undefined) {
    // An error that was already explained is not explained again.
    if (message.includes(`${type}: `)) return message;
    const offered = firstIn(error, (cause) => cause.offered);
    return [
      `${type}: ${message}`,
      offered && `this port offers ${offered.join(', ')}`,
      missingRight(type, error, access) ?? remedyOf(type, error, access),
    ]
      .filter((part) => part !== undefined)
      .join('; ');
  }
  const handshake = handshakeFailure(error);
  if (handshake !== undefined) return message.includes(handshake) ? message : handshake;
  if (!UNREACHABLE.test(message) || message.includes(CHECK_BROKERS)) return message;
  return `${message}; ${CHECK_BROKERS}, that their addresses are right, and whether this port requires TLS (kafka.tls.enabled) or a login (kafka.sasl.mechanism)`;
}

/** Explains a failed TLS handshake, with the option to change. */
function handshakeFailure(error: unknown): string | undefined {
  const address = firstIn(error, ({ broker }) => (typeof broker === 'string' ? broker : undefined));
  return firstIn(error, ({ code, message }) => {
    const remedy = tlsRemedy(
      { code, message },
      { ca: 'kafka.tls.ca', name: 'kafka.tls.serverName' },
    );
    const cause = String(code ?? message);
    return remedy && `TLS with ${address ?? 'the broker'} failed (${cause}): ${remedy}`;
  });
}

/**
 * Returns true if the handshake failed because of certificates or missing TLS. A connection that
 * the broker closed during the handshake does not count, because the broker may come back.
 */
function isHandshakeFailure(error: unknown): boolean {
  return (
    handshakeFailure(error) !== undefined &&
    ![...causesOf(error)].some(({ message }) => CLOSED_IN_HANDSHAKE.test(message))
  );
}

/** Offset that a JavaScript number cannot represent exactly (ADR 0024). A log with such offsets cannot be read. */
export class UnusableOffset extends RangeError {
  override readonly name = 'UnusableOffset';
  /** A retry cannot help. */
  readonly retriable = false;

  constructor(offset: string) {
    super(`offset ${offset} is not between 0 and 2^53 - 1`);
  }
}

/** @throws UnusableOffset */
export function toOffset(text: string): number {
  const offset = Number(text);
  if (text === '' || !Number.isSafeInteger(offset) || offset < 0) throw new UnusableOffset(text);
  return offset;
}
