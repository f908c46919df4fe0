/** What a kafkajs error means, and what to do about it, in words for an operator. */

/** The protocol error inside an error and its causes (`MESSAGE_TOO_LARGE`, …), if there is one. */
export function protocolErrorOf(error: unknown): string | undefined {
  for (let at = error, depth = 0; typeof at === 'object' && at !== null && depth < 8; depth++) {
    const { type, message, errors, cause } = at as { type?: unknown; message?: unknown; errors?: unknown[]; cause?: unknown };
    if (typeof type === 'string') {
      // kafkajs's table ends at 88.
      return type === 'KAFKAJS_UNKNOWN_ERROR_CODE' && message === 'Unknown error code 90' ? 'PRODUCER_FENCED' : type;
    }
    at = Array.isArray(errors) ? errors[0] : cause;
  }
  return undefined;
}

const REMEDIES: Readonly<Record<string, string>> = {
  TOPIC_AUTHORIZATION_FAILED: "grant this client's principal the operation on the topic (kafka-acls)",
  GROUP_AUTHORIZATION_FAILED: "grant this client's principal READ on the consumer group (kafka-acls)",
  TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
    "grant this client's principal WRITE and DESCRIBE on transactional ids that begin with the journal topic's name (kafka-acls)",
  CLUSTER_AUTHORIZATION_FAILED: "grant this client's principal the operation on the cluster (kafka-acls)",
  UNKNOWN_TOPIC_OR_PARTITION: 'create the topic, or correct its name; a missing DESCRIBE right looks the same',
  INCONSISTENT_GROUP_PROTOCOL: 'another kind of consumer uses this group id: stop it, or choose another group id',
  INVALID_SESSION_TIMEOUT:
    "choose a session timeout between the broker's group.min.session.timeout.ms and group.max.session.timeout.ms",
  INVALID_TRANSACTION_TIMEOUT: "choose a transaction timeout not above the broker's transaction.max.timeout.ms",
  MESSAGE_TOO_LARGE: "raise the topic's max.message.bytes, or write less per record",
  SASL_AUTHENTICATION_FAILED: 'check the SASL mechanism, user name and password',
};

/** One sentence: what failed, and what to do. Never holds content or secrets. */
export function explain(error: unknown): string {
  const type = protocolErrorOf(error);
  const message = error instanceof Error ? error.message : String(error);
  if (type !== undefined) {
    const remedy = REMEDIES[type];
    return remedy === undefined ? `${type}: ${message}` : `${type}: ${message}; ${remedy}`;
  }
  const name = error instanceof Error ? error.name : '';
  if (name === 'KafkaJSSASLAuthenticationError') return `${message}; ${REMEDIES.SASL_AUTHENTICATION_FAILED}`;
  if (/ECONNREFUSED|ENOTFOUND|ETIMEDOUT|EHOSTUNREACH|Connection (timeout|error)|Closed connection/.test(message)) {
    return `${message}; check that the brokers run, that their addresses are right, and whether they want TLS`;
  }
  return message;
}
