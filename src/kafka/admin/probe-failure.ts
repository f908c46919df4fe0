/** What kept Kafka from answering, for those who only ask. */
import { isHandshakeFailure, protocolErrorOf } from '../client/errors.ts';
import { securityErrorOf } from '../security/security-error.ts';

const REFUSED =
  /_AUTHORIZATION_FAILED$|^SASL_AUTHENTICATION_FAILED$|^ILLEGAL_SASL_STATE$|^UNSUPPORTED_SASL_MECHANISM$|^INVALID_TOPIC_EXCEPTION$|^POLICY_VIOLATION$/;
const MAX_DEPTH = 8;

/** `refused`: asking again will not help. `unreachable`: it did not answer, or not in time. undefined: Kafka is not to blame. */
export function questionFailure(error: unknown): 'refused' | 'unreachable' | undefined {
  const security = securityErrorOf(error);
  if (security !== undefined) return security.retriable ? 'unreachable' : 'refused';
  if (isHandshakeFailure(error)) return 'refused';
  const type = protocolErrorOf(error);
  for (
    let at = error, depth = 0;
    at instanceof Error && depth < MAX_DEPTH;
    at = at.cause, depth++
  ) {
    if (at.name === 'KafkaJSSASLAuthenticationError') return 'refused';
    if (at.name.startsWith('KafkaJS'))
      return type !== undefined && REFUSED.test(type) ? 'refused' : 'unreachable';
  }
  return undefined;
}
