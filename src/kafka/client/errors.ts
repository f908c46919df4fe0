/** What a kafkajs error means, and what to do about it, in words for an operator. */

import { securityErrorOf } from '../security/security-error.ts';
import { CLOSED_IN_HANDSHAKE, tlsRemedy } from '../security/tls-failure.ts';
import { type Asked, missingAcl } from './missing-acl.ts';

/** The protocol error inside an error and its causes (`MESSAGE_TOO_LARGE`, …), if there is one. */
export function protocolErrorOf(error: unknown): string | undefined {
  for (let at = error, depth = 0; typeof at === 'object' && at !== null && depth < 8; depth++) {
    const { type, message, errors, cause } = at as {
      type?: unknown;
      message?: unknown;
      errors?: unknown[];
      cause?: unknown;
    };
    if (typeof type === 'string') {
      // kafkajs's table ends at 88.
      return type === 'KAFKAJS_UNKNOWN_ERROR_CODE' && message === 'Unknown error code 90'
        ? 'PRODUCER_FENCED'
        : type;
    }
    at = Array.isArray(errors) ? errors[0] : cause;
  }
  return undefined;
}

const REMEDIES: Readonly<Record<string, string>> = {
  UNKNOWN_TOPIC_OR_PARTITION: 'create the topic, or correct its name',
  INCONSISTENT_GROUP_PROTOCOL:
    'another kind of consumer uses this group id: stop it, or choose another group id',
  INVALID_SESSION_TIMEOUT:
    "choose a session timeout between the broker's group.min.session.timeout.ms and group.max.session.timeout.ms",
  INVALID_TRANSACTION_TIMEOUT:
    "choose a transaction timeout not above the broker's transaction.max.timeout.ms",
  LEADER_NOT_AVAILABLE: 'start the broker that holds it',
  MESSAGE_TOO_LARGE: "raise the topic's max.message.bytes, or write less per record",
  SASL_AUTHENTICATION_FAILED: 'check kafka.sasl',
  ILLEGAL_SASL_STATE:
    'this port wants no login: set kafka.sasl.mechanism to none, or take the port of a SASL listener',
  UNSUPPORTED_SASL_MECHANISM: 'choose another kafka.sasl.mechanism',
};

/** One sentence: what failed, and what to do. Never holds content or secrets. @param asked what was asked for, to name a right that is missing */
export function explain(error: unknown, asked: Asked = {}): string {
  const security = securityErrorOf(error);
  if (security !== undefined) return security.message;
  const type = protocolErrorOf(error);
  const message = error instanceof Error ? error.message : String(error);
  if (type !== undefined) {
    // Of an error that was explained before, what it says is all there is to say.
    if (message.includes(`${type}: `)) return message;
    const remedy = missingAcl(type, error, asked) ?? REMEDIES[type];
    return [`${type}: ${message}`, offeredMechanisms(error), remedy]
      .filter((part) => part !== undefined)
      .join('; ');
  }
  const handshake = handshakeFailure(error);
  if (handshake !== undefined) return message.includes(handshake) ? message : handshake;
  if (/Closed connection|Connection closed by the server/.test(message))
    return `${message}; check that the brokers run, and whether this port wants TLS (kafka.tls.enabled) or a login (kafka.sasl.mechanism)`;
  if (/ECONNREFUSED|ENOTFOUND|ETIMEDOUT|EHOSTUNREACH|Connection (timeout|error)/.test(message))
    return `${message}; check that the brokers run, that their addresses are right, and whether they want TLS (kafka.tls.enabled)`;
  return message;
}

/** What kafkajs says of a TLS handshake that failed, with the option to change. */
function handshakeFailure(error: unknown): string | undefined {
  const causes = [...causesOf(error)] as (Error & {
    readonly code?: unknown;
    readonly broker?: unknown;
  })[];
  const broker = causes.find((one) => typeof one.broker === 'string')?.broker ?? 'the broker';
  for (const { code, message } of causes) {
    const remedy = tlsRemedy(
      { code, message },
      { ca: 'kafka.tls.ca', name: 'kafka.tls.serverName' },
    );
    if (remedy !== undefined)
      return `TLS with ${broker} failed (${String(code ?? message)}): ${remedy}`;
  }
  return undefined;
}

/** Whether certificates or the lack of TLS keep this client out: asking again will not help. A broker that goes away in a handshake may be back. */
export function isHandshakeFailure(error: unknown): boolean {
  return (
    handshakeFailure(error) !== undefined &&
    ![...causesOf(error)].some(({ message }) => CLOSED_IN_HANDSHAKE.test(message))
  );
}

function offeredMechanisms(error: unknown): string | undefined {
  for (const one of causesOf(error)) {
    const { offered } = one as Error & { offered?: readonly string[] };
    if (offered !== undefined) return `this port offers ${offered.join(', ')}`;
  }
  return undefined;
}

function* causesOf(error: unknown): Generator<Error> {
  for (let at = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth++)
    yield at;
}
