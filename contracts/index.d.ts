/**
 * Types of the records on the topics: entry `content-review-connector/contracts` of the package.
 * Generated from the JSON Schemas in this folder: change the schemas and run npm run generate.
 */

/**
 * Value of a record on the source topic of a review pipeline, with the default mapping; the
 * location of each part is configurable (source.mapping). Other members are ignored. If several
 * members have the same name, the last one counts. A record that does not match becomes a dead
 * letter.
 */
export interface ContentEvent {
  /** Content to review: a text or a URL. At most source.maxContent (default 4 MiB). */
  readonly content: string;
  /** Content type, which selects the batch of the item. */
  readonly type: string;
  /**
   * Returned in the decision, deep-equal. At most 64 levels deep. null, or no metadata, counts as
   * {}.
   */
  readonly metadata?: Readonly<Record<string, unknown>> | null;
  /**
   * Result expected by the producer, for comparison; returned in the decision. null counts as
   * absent.
   */
  readonly expected_result?: string | null;
}

/** A label of the policy, and whether it applies. The service may add members of any type. */
export interface DecisionLabel {
  /** Name of the label, defined by the policy. */
  readonly name: string;
  /**
   * True if the label applies to the content, or if the service lists it without stating whether it
   * applies.
   */
  readonly applied: boolean;
  /** Explanation by the service; null if it gave none. */
  readonly explanation: string | null;
}

/** Reason for the missing decision. */
export interface DecisionError {
  /**
   * review_failed: the service reported an error for this item. The other codes state how the
   * batches of the item ended: batch_failed, batch_cancelled, batch_unknown, upload_lost,
   * upload_expired, upload_rejected, upload_blocked, upload_too_large, results_unreadable,
   * rows_missing, rows_malformed, review_timeout. More may be added: treat an unknown code like any
   * other error.
   */
  readonly code: string;
  /** Human-readable; its wording may change. Never contains content. */
  readonly message: string;
}

/** Last batch of the item. */
export interface DecisionBatch {
  /** Id of the batch at the service; null if none was created. */
  readonly id: string | null;
  /** Content type. */
  readonly type: string;
  /** 1 for the first batch of the item; a batch that was never reviewed does not count. */
  readonly attempt: number;
}

/** The source record of this outcome. */
export interface DecisionSource {
  /** The source topic. */
  readonly topic: string;
  /** Partition of the source record. */
  readonly partition: number;
  /** Offset of the source record: the order of events within a partition. */
  readonly offset: number;
  /**
   * Key of the source record as text; base64 if key_encoding is base64; null if it has none. The
   * terminal record itself has the same key, byte for byte.
   */
  readonly key: string | null;
  /** Present if the key is not UTF-8; key is then base64. */
  readonly key_encoding?: 'base64';
  /**
   * Timestamp of the source record, ISO 8601, UTC, milliseconds; null if it has none that a date
   * can represent. Years beyond 9999, always a producer's mistake, have a sign and six digits.
   */
  readonly timestamp: string | null;
}

/** Members that depend on the status. */
type Ending<Reason> =
  | {
      readonly status: 'SUCCESS';
      readonly error: null;
    }
  | {
      readonly status: 'ERROR';
      readonly error: Reason;
    };

/** Members of records of every status. */
export interface DecisionMembers {
  /**
   * <topic>-<partition>-<offset> of the source record, with #<n> after n resets of the consumer
   * group. Stable across retries and restarts, and unique among the terminal records of a pipeline:
   * use it to deduplicate. The header event-id repeats it.
   */
  readonly id: string;
  /**
   * SUCCESS: the service decided. ERROR: there is no decision; error has the reason. v1 has no
   * other status.
   */
  readonly status: 'SUCCESS' | 'ERROR';
  /** Status in the service's spelling; present only if it is neither SUCCESS nor ERROR. */
  readonly service_status?: string;
  /** Result of the policy, which defines its values. null if there is none. */
  readonly result: string | null;
  /** Expected result of the content event; null if it has none. */
  readonly expected_result: string | null;
  /** Labels; empty if the service gave none. */
  readonly labels: readonly DecisionLabel[];
  /** Original text of the labels; present only if it was not JSON, so that labels are a guess. */
  readonly labels_raw?: string;
  /**
   * Metadata of the content event, deep-equal: types, nesting, and the digits of numbers. For
   * numbers that a double cannot represent (64-bit ids, decimals) use a parser that keeps their
   * digits.
   */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Reviewed content; present only if output.includeContent is on. */
  readonly content?: string;
  /** null if and only if status is SUCCESS. */
  readonly error: DecisionError | null;
  readonly batch: DecisionBatch;
  readonly source: DecisionSource;
  /** Time of publication by the connector. RFC 3339, UTC, milliseconds. */
  readonly decided_at: string;
}

/**
 * Value of a record on the output topic of a review pipeline: exactly one per decodable content
 * event, for consumers that read committed records. The record has the same key as the source
 * record, byte for byte, the id in the header event-id, and the configured headers of the source
 * record. Later versions of v1 may add members and error codes: ignore unknown ones. Read with
 * isolation.level=read_committed.
 */
export type Decision = DecisionMembers & Ending<DecisionError>;

/** Reason for the missing decision. */
export interface LookedUpDecisionError {
  /**
   * review_failed: the service reports an error for this decision. decision_unknown: the id is
   * unknown to the service. decision_refused: the service refuses to look up the id.
   * decision_unreadable: its responses stayed invalid until the timeout. review_timeout: the
   * decision was not made in time. More may be added: treat an unknown code like any other error.
   */
  readonly code: string;
  /** Human-readable; its wording may change. Never contains content. */
  readonly message: string;
}

/** Members of records of every status. */
export interface LookedUpDecisionMembers {
  /**
   * <topic>-<partition>-<offset> of the source record, with #<n> after n resets of the consumer
   * group. Stable across retries and restarts, and unique among the terminal records of a pipeline:
   * use it to deduplicate. The header event-id repeats it.
   */
  readonly id: string;
  /**
   * SUCCESS: the decision was made. ERROR: it failed or is unavailable; error has the reason. v1
   * has no other status.
   */
  readonly status: 'SUCCESS' | 'ERROR';
  /** Id of the decision. */
  readonly decision_id: string;
  /**
   * Status of the decision in the service's spelling; null if the decision is unknown to the
   * service, or its response is invalid.
   */
  readonly decision_status: string | null;
  /** Result of the policy, which defines its values. null if there is none. */
  readonly result: string | null;
  /**
   * Labels; empty if the service gave none, or null. Entries are omitted if they have no name, or
   * if their member applied is not a spelling of true or false. Numbers keep their digits.
   */
  readonly labels: readonly DecisionLabel[];
  /**
   * Metadata at the service; numbers keep their digits. {} if the decision is unknown to the
   * service.
   */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** null if and only if status is SUCCESS. */
  readonly error: LookedUpDecisionError | null;
  readonly source: DecisionSource;
  /** Time of publication by the connector. RFC 3339, UTC, milliseconds. */
  readonly decided_at: string;
}

/**
 * Value of a record on the output topic of a lookup pipeline: exactly one per event that names a
 * decision, for consumers that read committed records. The record has the same key as the source
 * record, byte for byte, the id in the header event-id, and the configured headers of the source
 * record. Later versions of v1 may add members and error codes: ignore unknown ones. Read with
 * isolation.level=read_committed.
 */
export type LookedUpDecision = LookedUpDecisionMembers & Ending<LookedUpDecisionError>;

/** Reason for the failed import. */
export interface ReceiptError {
  /**
   * How the last import of the record ended: batch_failed, batch_cancelled, batch_unknown,
   * upload_lost, upload_expired, upload_rejected, upload_blocked, upload_too_large, rows_missing,
   * review_timeout. More may be added: treat an unknown code like any other error.
   */
  readonly code: string;
  /** Human-readable; its wording may change. Never contains content. */
  readonly message: string;
}

/** Members of records of every status. */
export interface ReceiptMembers {
  /**
   * <topic>-<partition>-<offset> of the source record, with #<n> after n resets of the consumer
   * group. Stable across retries and restarts, and unique among the terminal records of a pipeline:
   * use it to deduplicate. The header event-id repeats it.
   */
  readonly id: string;
  /**
   * SUCCESS: the import of the record is complete. ERROR: the record was not imported; error has
   * the reason. v1 has no other status.
   */
  readonly status: 'SUCCESS' | 'ERROR';
  /** Id of the import at the service; null if none was created. */
  readonly import_id: string | null;
  /** Status of the import in the service's spelling; null if status is ERROR. */
  readonly import_status: string | null;
  /** 1 for the first import of the record; an import that was never processed does not count. */
  readonly attempt: number;
  /** null if and only if status is SUCCESS. */
  readonly error: ReceiptError | null;
  readonly source: DecisionSource;
  /** Time of publication by the connector. RFC 3339, UTC, milliseconds. */
  readonly decided_at: string;
}

/**
 * Value of a record on the output topic of an import pipeline: exactly one per decodable event, for
 * consumers that read committed records. The record has the same key as the source record, byte for
 * byte, the id in the header event-id, and the configured headers of the source record. Later
 * versions of v1 may add members and error codes: ignore unknown ones. Read with
 * isolation.level=read_committed.
 */
export type Receipt = ReceiptMembers & Ending<ReceiptError>;

/**
 * Headers, as UTF-8 text, of a record on the dead-letter topic; they are the contract of the topic.
 * Key, value and headers of the source record are copied unchanged (a header whose name is used
 * here is replaced). The value is null if the source record had none, is gone, or was too large for
 * the topic; the key and the source's headers are also missing if only the coordinates are known.
 * Exactly one per source record without a decision, for consumers that read committed records.
 * Later versions of v1 may add headers, reasons and stages: ignore unknown ones.
 */
export interface DeadLetterHeaders {
  /**
   * <topic>-<partition>-<offset> of the source record, with #<n> after n resets of the consumer
   * group. Stable across retries and restarts, and unique among the terminal records of a pipeline:
   * use it to deduplicate.
   */
  readonly 'event-id': string;
  /**
   * Reason. null_value, not_json, not_an_object: the value is missing, or not a JSON object.
   * unknown_schema: its schema is not in the registry. unreadable_batch: its record batch cannot be
   * read (damaged, or compressed with an unknown codec). too_many_headers: it has more than 1,000
   * headers. undecodable: its bytes do not match its schema or format. mapping_failed: an
   * expression of the mapping failed. no_content, empty_content, no_type, bad_metadata: a part of
   * the event is missing, empty or of the wrong type. type_not_allowed: its content type is not in
   * source.types. too_many_types: 100 other types are in use. too_large: the record, or its
   * outcome, is larger than allowed. source_unavailable: it had to be reread, but is gone from the
   * source topic. rejected_type: the service rejects its content type. review_failed: its review
   * failed permanently. internal_error: a bug of the connector; only its coordinates are given.
   * More may be added: treat an unknown reason like any other reason.
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
    | 'no_content'
    | 'empty_content'
    | 'no_type'
    | 'type_not_allowed'
    | 'too_many_types'
    | 'bad_metadata'
    | 'too_large'
    | 'source_unavailable'
    | 'rejected_type'
    | 'review_failed'
    | 'internal_error'
    | (string & Record<never, never>);
  /**
   * Human-readable: the problem and its place. Its wording may change. Never contains content of
   * the record.
   */
  readonly 'dead-letter-message': string;
  /**
   * Stage that detected the problem. decode: the record was read for the first time. create: the
   * service rejected its content type, or it could not be written into the upload. rewind: it was
   * reread, for another attempt or for its terminal record. settle: its outcome is larger than the
   * output topic accepts; or the record was reread to publish the outcome, but is gone or no longer
   * matches the configuration; or it got no outcome, and the configuration requires a dead letter
   * in this case. More may be added.
   */
  readonly 'dead-letter-stage':
    | 'decode'
    | 'create'
    | 'rewind'
    | 'settle'
    | (string & Record<never, never>);
  /** Topic of the source record. */
  readonly 'dead-letter-topic': string;
  /** Partition of the source record, decimal. */
  readonly 'dead-letter-partition': string;
  /** Offset of the source record, decimal. */
  readonly 'dead-letter-offset': string;
  /**
   * Size in bytes, decimal, of a value that is omitted because it was too large for the dead-letter
   * topic.
   */
  readonly 'dead-letter-value-omitted-bytes'?: string;
}
