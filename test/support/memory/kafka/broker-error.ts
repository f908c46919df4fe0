/** Error codes of a broker, as Kafka names them. */
export type BrokerErrorCode =
  | 'INVALID_PRODUCER_EPOCH'
  | 'INVALID_TXN_STATE'
  | 'UNKNOWN_TOPIC_OR_PARTITION'
  | 'MESSAGE_TOO_LARGE'
  | 'INVALID_RECORD'
  | 'OFFSET_METADATA_TOO_LARGE'
  | 'TOPIC_ALREADY_EXISTS'
  | 'INVALID_PARTITIONS'
  | 'UNKNOWN_MEMBER_ID';

export class BrokerError extends Error {
  override readonly name = 'BrokerError';
  readonly code: BrokerErrorCode;
  constructor(code: BrokerErrorCode, message: string) {
    super(`${code}: ${message}`);
    this.code = code;
  }
}
