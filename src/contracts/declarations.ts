/**
 * The records on the topics, as contracts/ has them. Generated from its JSON Schemas: change those, and run
 * node dev/contracts/generate.ts.
 */

/**
 * Value of a record on the source topic of a review pipeline, with the default mapping; where each
 * part is in your events is configurable (source.mapping). Other members are ignored. Of several
 * members with one name the last counts. A record that does not fit becomes a dead letter.
 */
export interface ContentEvent {
  /** What is reviewed: a text or a URL. At most source.maxContent (4 MiB unless configured). */
  readonly content: string;
  /** Content type: it decides the batch that the item joins. */
  readonly type: string;
  /**
   * Comes back in the decision deep-equal. Nested at most 64 levels deep. null counts as absent,
   * and absent as {}.
   */
  readonly metadata?: Readonly<Record<string, unknown>> | null;
  /**
   * The result that the producer expects, for comparison; comes back in the decision. null counts
   * as absent.
   */
  readonly expected_result?: string | null;
}

/**
 * A label of the policy, and whether it applies. The service may say more of it: further members,
 * of any type.
 */
export interface DecisionLabel {
  /** Name of the label, the policy's own. */
  readonly name: string;
  /** Whether the label applies to the content. True when the service only listed it. */
  readonly applied: boolean;
  /** Why, in the service's words; null when it gave none. */
  readonly explanation: string | null;
}

/** Why there is no decision. */
export interface DecisionError {
  /**
   * review_failed: the service reported an error for this item. Others tell how the batches of the
   * item ended: batch_failed, batch_cancelled, batch_unknown, upload_lost, upload_expired,
   * upload_rejected, upload_blocked, upload_too_large, results_unreadable, rows_missing,
   * rows_malformed, rows_failed, review_timeout. encoding_failed: the outcome could not be written
   * in the format of the output. More may come: treat a code that you do not know as any other
   * error.
   */
  readonly code: string;
  /** For people; its wording may change. Never shows content. */
  readonly message: string;
}

/** The last batch that the item was in. */
export interface DecisionBatch {
  /** The service's id of the batch; null when none was made. */
  readonly id: string | null;
  /** Content type. */
  readonly type: string;
  /** 1 for the first batch that the item was in. */
  readonly attempt: number;
}

/** The source record that this answers for. */
export interface DecisionSource {
  /** The source topic. */
  readonly topic: string;
  /** Its partition. */
  readonly partition: number;
  /** Its offset there: tells the order of events of one partition. */
  readonly offset: number;
  /**
   * Its key as text; base64 when key_encoding says so; null when it has none. The terminal record
   * itself has the same key, byte by byte.
   */
  readonly key: string | null;
  /** Present when the key is not UTF-8: key is its base64. */
  readonly key_encoding?: 'base64';
  /**
   * Its timestamp, ISO 8601, UTC, milliseconds; null when it has none that a date can hold. Years
   * beyond 9999, which only a producer's mistake makes, have a sign and six digits.
   */
  readonly timestamp: string | null;
}

/** Members that it has whatever its status. */
export interface DecisionMembers {
  /**
   * <topic>-<partition>-<offset> of the source record, with #<n> once the consumer group was reset
   * n times. The same over every retry and restart, and unique among the terminal records of a
   * pipeline: the key to deduplicate by. Also in the header event-id.
   */
  readonly id: string;
  /**
   * SUCCESS: the service decided. ERROR: no decision could be had; error says why. v1 has no other
   * status.
   */
  readonly status: 'SUCCESS' | 'ERROR';
  /** Status as the service spelled it; present only when it is neither SUCCESS nor ERROR. */
  readonly service_status?: string;
  /** Result of the policy; its values are the policy's own. null when there is none. */
  readonly result: string | null;
  /** As the content event gave it; null when it gave none. */
  readonly expected_result: string | null;
  /** Empty when the service gave none. */
  readonly labels: readonly DecisionLabel[];
  /**
   * The labels as the service wrote them; present only when that was not JSON, and labels are a
   * guess.
   */
  readonly labels_raw?: string;
  /**
   * Deep-equal to the content event's metadata: types, nesting, and the digits of numbers. Read
   * numbers beyond a double (ids of 64 bits, decimals) with a parser that keeps them.
   */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** The reviewed content; present only when output.includeContent is on. */
  readonly content?: string;
  /** null exactly when status is SUCCESS. */
  readonly error: DecisionError | null;
  readonly batch: DecisionBatch;
  readonly source: DecisionSource;
  /** When the connector published it. RFC 3339, UTC, milliseconds. */
  readonly decided_at: string;
}

/**
 * Value of a record on the output topic of a review pipeline: exactly one per content event that
 * was understood, for a consumer that reads committed records. The record's key is the source
 * record's key, byte by byte; the header event-id repeats the id; configured headers of the source
 * record come back. Later versions of v1 may add members and error codes: ignore what you do not
 * know. Read with isolation.level=read_committed.
 */
export type Decision = DecisionMembers &
  (
    | {
        readonly status: 'SUCCESS';
        readonly error: null;
      }
    | {
        readonly status: 'ERROR';
        readonly error: DecisionError;
      }
  );

/**
 * A label of the policy, and whether it applies. The service may say more of it: further members,
 * of any type.
 */
export type LookedUpDecisionLabel = DecisionLabel;

/** Why there is no decision. */
export interface LookedUpDecisionError {
  /**
   * review_failed: the service reports an error for this decision. decision_unknown: it does not
   * know the id. decision_refused: it refuses to look the id up. decision_unreadable: its answer
   * made no sense until the time was over. review_timeout: the decision was not made in time.
   * encoding_failed: the outcome could not be written in the format of the output. More may come:
   * treat a code that you do not know as any other error.
   */
  readonly code: string;
  /** For people; its wording may change. Never shows content. */
  readonly message: string;
}

/** The source record that this answers for. */
export type LookedUpDecisionSource = DecisionSource;

/** Members that it has whatever its status. */
export interface LookedUpDecisionMembers {
  /**
   * <topic>-<partition>-<offset> of the source record, with #<n> once the consumer group was reset
   * n times. The same over every retry and restart, and unique among the terminal records of a
   * pipeline: the key to deduplicate by. Also in the header event-id.
   */
  readonly id: string;
  /**
   * SUCCESS: the decision is made. ERROR: it failed, or could not be had; error says why. v1 has no
   * other status.
   */
  readonly status: 'SUCCESS' | 'ERROR';
  /** The id that was looked up. */
  readonly decision_id: string;
  /**
   * Status of the decision as the service spelled it; null when it does not know the decision, or
   * gives no answer that makes sense.
   */
  readonly decision_status: string | null;
  /** Result of the policy; its values are the policy's own. null when there is none. */
  readonly result: string | null;
  /** Empty when the service gave none, or null; numbers keep their digits. */
  readonly labels: readonly LookedUpDecisionLabel[];
  /** As the service has it; numbers keep their digits. {} when it does not know the decision. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** null exactly when status is SUCCESS. */
  readonly error: LookedUpDecisionError | null;
  readonly source: LookedUpDecisionSource;
  /** When the connector published it. RFC 3339, UTC, milliseconds. */
  readonly decided_at: string;
}

/**
 * Value of a record on the output topic of a lookup pipeline: exactly one per event that names a
 * decision, for a consumer that reads committed records. The record's key is the source record's
 * key, byte by byte; the header event-id repeats the id; configured headers of the source record
 * come back. Later versions of v1 may add members and error codes: ignore what you do not know.
 * Read with isolation.level=read_committed.
 */
export type LookedUpDecision = LookedUpDecisionMembers &
  (
    | {
        readonly status: 'SUCCESS';
        readonly error: null;
      }
    | {
        readonly status: 'ERROR';
        readonly error: LookedUpDecisionError;
      }
  );

/** Why it was not imported. */
export interface ReceiptError {
  /**
   * How the last import of the record ended: batch_failed, batch_cancelled, batch_unknown,
   * upload_lost, upload_expired, upload_rejected, upload_blocked, upload_too_large, rows_missing,
   * review_timeout. encoding_failed: the outcome could not be written in the format of the output.
   * More may come: treat a code that you do not know as any other error.
   */
  readonly code: string;
  /** For people; its wording may change. Never shows content. */
  readonly message: string;
}

/** The source record that this answers for. */
export type ReceiptSource = DecisionSource;

/** Members that it has whatever its status. */
export interface ReceiptMembers {
  /**
   * <topic>-<partition>-<offset> of the source record, with #<n> once the consumer group was reset
   * n times. The same over every retry and restart, and unique among the terminal records of a
   * pipeline: the key to deduplicate by. Also in the header event-id.
   */
  readonly id: string;
  /**
   * SUCCESS: the import that the record was in is complete. ERROR: it could not be imported; error
   * says why. v1 has no other status.
   */
  readonly status: 'SUCCESS' | 'ERROR';
  /** The service's id of the import; null when none was made. */
  readonly import_id: string | null;
  /** Status of the import as the service spelled it; null when status is ERROR. */
  readonly import_status: string | null;
  /** 1 for the first import that the record was in. */
  readonly attempt: number;
  /** null exactly when status is SUCCESS. */
  readonly error: ReceiptError | null;
  readonly source: ReceiptSource;
  /** When the connector published it. RFC 3339, UTC, milliseconds. */
  readonly decided_at: string;
}

/**
 * Value of a record on the output topic of an import pipeline: exactly one per event that was
 * understood, for a consumer that reads committed records. The record's key is the source record's
 * key, byte by byte; the header event-id repeats the id; configured headers of the source record
 * come back. Later versions of v1 may add members and error codes: ignore what you do not know.
 * Read with isolation.level=read_committed.
 */
export type Receipt = ReceiptMembers &
  (
    | {
        readonly status: 'SUCCESS';
        readonly error: null;
      }
    | {
        readonly status: 'ERROR';
        readonly error: ReceiptError;
      }
  );

/**
 * Headers, as UTF-8 text, of a record on the dead-letter topic: the headers are the contract. Key
 * and value are the source record's own bytes, and its own headers come along untouched (one whose
 * name is used here is replaced). The value is null when the source record had none, is gone, or
 * was too large for the topic; the key and the source's headers are missing too when only the
 * coordinates are known. Exactly one per source record that has no decision, for a consumer that
 * reads committed records. Later versions of v1 may add headers, reasons and stages: ignore what
 * you do not know.
 */
export interface DeadLetterHeaders {
  /**
   * <topic>-<partition>-<offset> of the source record, with #<n> once the consumer group was reset
   * n times. The same over every retry and restart, and unique among the terminal records of a
   * pipeline: the key to deduplicate by.
   */
  readonly 'event-id': string;
  /**
   * Why. null_value, not_json, not_an_object: the value is not there, or no JSON object.
   * unknown_schema: its schema is not in the registry. unreadable_batch: the record batch that it
   * stands in cannot be read (damaged, or compressed in a way that is not understood).
   * too_many_headers: it has more headers than source.maxHeaders. undecodable: its bytes do not fit
   * its schema or format. mapping_failed, bad_content: the configured mapping found nothing usable.
   * no_content, empty_content, no_type, bad_metadata: a part of the event is missing, empty or of
   * the wrong type. type_not_allowed: its content type is not in source.types. too_large: it, or
   * what would be published for it, is larger than allowed. source_unavailable: it had to be read
   * again, and is gone from the source topic. rejected_type: the service refuses its content type.
   * review_failed: nothing more is tried for it. internal_error: the connector failed on it, by a
   * fault of its own, and only its coordinates are given. More may come: treat a reason that you do
   * not know as any other.
   */
  readonly 'dead-letter-reason':
    | 'null_value'
    | 'not_json'
    | 'not_an_object'
    | 'unknown_schema'
    | 'unreadable_batch'
    | 'too_many_headers'
    | 'undecodable'
    | 'mapping_failed'
    | 'bad_content'
    | 'no_content'
    | 'empty_content'
    | 'no_type'
    | 'type_not_allowed'
    | 'bad_metadata'
    | 'too_large'
    | 'source_unavailable'
    | 'rejected_type'
    | 'review_failed'
    | 'internal_error'
    | (string & Record<never, never>);
  /**
   * For people: what was expected, and where. Its wording may change. Never shows what the record
   * holds.
   */
  readonly 'dead-letter-message': string;
  /**
   * Where it was noticed. decode: when the record was first read. create: the service refused its
   * content type, or it could not be written into the upload. rewind: when it was read again for
   * another attempt, or to give it up. settle: when its outcome was to be published: it is larger
   * than the output topic takes; or the record, read again for it, is gone or no longer fits the
   * configuration; or there was none, and configuration makes that a dead letter. More may come.
   */
  readonly 'dead-letter-stage':
    | 'decode'
    | 'create'
    | 'rewind'
    | 'settle'
    | (string & Record<never, never>);
  /** Topic of the source record. */
  readonly 'dead-letter-topic': string;
  /** Its partition, decimal. */
  readonly 'dead-letter-partition': string;
  /** Its offset, decimal. */
  readonly 'dead-letter-offset': string;
  /**
   * Size in bytes, decimal, of a value that was too large for the dead-letter topic and is left
   * out.
   */
  readonly 'dead-letter-value-omitted-bytes'?: string;
}
