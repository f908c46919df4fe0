/** Sorts what can go wrong in a transaction (TransactionFailure in src/core/ports/kafka.ts). */
import type { TransactionFailure } from '../../core/ports/kafka.ts';
import { protocolErrorOf } from '../client/errors.ts';

/** `sending`: the commit was not asked for, so that nothing can have become visible. */
export type TransactionPhase = 'sending' | 'committing';

const FENCED: ReadonlySet<string> = new Set([
  'INVALID_PRODUCER_EPOCH',
  'PRODUCER_FENCED',
  'INVALID_PRODUCER_ID_MAPPING',
  'INVALID_TXN_STATE',
  'OUT_OF_ORDER_SEQUENCE_NUMBER',
  'UNKNOWN_PRODUCER_ID',
]);

const TOO_LARGE: ReadonlySet<string> = new Set(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE']);

const REJECTED: ReadonlySet<string> = new Set([
  'OFFSET_METADATA_TOO_LARGE',
  'INVALID_RECORD',
  'INVALID_TIMESTAMP',
  'INVALID_REQUIRED_ACKS',
  'INVALID_TRANSACTION_TIMEOUT',
  'INVALID_TOPIC_EXCEPTION',
  'POLICY_VIOLATION',
  'UNSUPPORTED_FOR_MESSAGE_FORMAT',
  'UNSUPPORTED_VERSION',
  'TOPIC_AUTHORIZATION_FAILED',
  'GROUP_AUTHORIZATION_FAILED',
  'CLUSTER_AUTHORIZATION_FAILED',
  'TRANSACTIONAL_ID_AUTHORIZATION_FAILED',
]);

/** Answers to EndTxn that prove that it changed nothing. Others may follow a commit that was written down already. */
const COMMIT_REFUSED: ReadonlySet<string> = new Set([
  'TRANSACTIONAL_ID_AUTHORIZATION_FAILED',
  'UNSUPPORTED_VERSION',
]);

export function classify(error: unknown, phase: TransactionPhase): TransactionFailure {
  const type = protocolErrorOf(error);
  if (type !== undefined && FENCED.has(type)) return 'fenced';
  if (phase === 'committing')
    return type !== undefined && COMMIT_REFUSED.has(type) ? 'rejected' : 'unknown';
  if (type !== undefined && TOO_LARGE.has(type)) return 'too_large';
  return type !== undefined && REJECTED.has(type) ? 'rejected' : 'aborted';
}
