/**
 * Texts of docs/failures.md, in its order: events of the engine's table, and events handled
 * elsewhere. test/unit/structure/failures.test.ts finds the test of each event.
 */

export interface FailureText {
  /** Name of the event, as in the engine's table if it is there. */
  readonly event: string;
  readonly connector: string;
  /** Signs by which operators notice the event, in addition to its `jobs_failed_total`. */
  readonly user?: string;
  /** Options of a pipeline that change the reaction. */
  readonly options?: readonly string[];
}

const RETRY_OPTIONS = ['review.attempts', 'review.onFailure'];
const OVERDUE_OPTIONS = ['review.maxReviewTime', 'review.onTimeout', 'review.onFailure'];
const OVERDUE =
  '`jobs_failed_total{reason="review_overdue"}` or `{reason="review_timeout"}`, `oldest_unsettled_timestamp_seconds`';

export const FAILURE_TEXTS: readonly FailureText[] = [
  {
    event: 'record that cannot be reviewed',
    connector:
      'Publishes a dead letter: the original record, with reason, message, stage and coordinates in headers.',
    user: '`dead_lettered_total{reason}`',
    options: ['source.types', 'source.nullValues', 'source.maxContent'],
  },
  {
    event: 'record batch that cannot be read',
    connector:
      'Publishes a dead letter without the original for each unreadable offset, and continues.',
    user: '`dead_lettered_total{reason="unreadable_batch"}`, log line at warn with partition and offsets',
  },
  {
    event: 'record too large to be read',
    connector:
      'Skips a record larger than four times the allowed content and metadata, and publishes a dead letter without the original.',
    user: '`dead_lettered_total{reason="too_large"}`, log line at warn with partition and offset',
    options: ['source.maxContent'],
  },
  {
    event: 'too many content types',
    connector:
      'If 100 types are in use, publishes records of further types as dead letters, and continues with the 100.',
    user: '`dead_lettered_total{reason="too_many_types"}`, log line at warn from 80 types on',
    options: ['source.types'],
  },
  {
    event: 'record with too many headers',
    connector: 'Publishes a dead letter without the original.',
    user: '`dead_lettered_total{reason="too_many_headers"}`, log line at warn with partition and offset',
    options: [],
  },
  {
    event: 'type rejected on create',
    connector:
      'Pauses the type and tries one batch per pause, or publishes dead letters. The records of a paused type are reread later, so other types of a partition continue until it reaches `maxInFlight`.',
    user: 'Log line at error, `shards_paused{reason="type_blocked"}`; or `dead_lettered_total{reason="rejected_type"}`',
    options: ['review.onRejectedType', 'review.pause', 'source.maxInFlight'],
  },
  {
    event: 'API key refused',
    connector:
      'Retries at long intervals, with one batch of each type and the current key of the file.',
    user: 'Not ready (`/readyz`), `shards_paused{reason="api_key"}`',
    options: ['review.pause'],
  },
  {
    event: 'service overloaded or unreachable',
    connector: 'Retries indefinitely, with backoff and Retry-After.',
    user: '`http_retries_total{operation,reason}`, `shards_paused{reason="service"}`',
  },
  {
    event: 'storage overloaded during a download',
    connector:
      'Keeps the settled rows. After the Retry-After, requests the batch again and repeats the download.',
    user: '`http_retries_total{operation="download"}`',
  },
  {
    event: 'response that violates the API contract',
    connector:
      'Retries indefinitely: a proxy or a deployment may be the cause. A lookup ends after `maxReviewTime` if `onTimeout` is `error`, with the code `decision_unreadable`.',
    user: 'Log line at warn with call and cause, `shards_paused{reason="service"}`, `http_requests_total{code="protocol"}`',
    options: ['review.maxReviewTime', 'review.onTimeout'],
  },
  {
    event: 'create without a clear response',
    connector: 'Creates another batch. If the first one exists, it never gets an upload.',
    user: '`orphaned_jobs_total`',
  },
  {
    event: 'remote id returned twice',
    connector: 'Creates batches until the id is new.',
    user: 'Log line at error',
  },
  {
    event: 'upload address not allowed',
    connector:
      'Sends nothing to an address that `service.transfer` does not allow. Submits the records in a new batch, indefinitely; pauses the type after five such batches in a row.',
    user: 'log line at warn with the host and the option, `shards_paused{reason="type_blocked"}`',
    options: ['review.pause'],
  },
  {
    event: 'upload address expired',
    connector:
      'Submits the records in a new batch. If the response to an earlier attempt of the upload was lost, first follows the batch as if it were uploaded (`grace`).',
  },
  {
    event: 'upload too large for the storage',
    connector:
      'Halves the batch immediately. A single item that is too large gets a decision with status ERROR, or a dead letter (`onFailure`), unless the type pauses first (see below).',
    options: ['batch.maxBytes', 'review.pause', 'review.onFailure'],
  },
  {
    event: 'upload refused',
    connector: 'Submits the records again, then halves the batch to find the rejected records.',
    options: RETRY_OPTIONS,
  },
  {
    event: 'upload not seen by the service',
    connector:
      'Waits for a grace period (20 s after a takeover if the journal does not confirm the upload), checks once more, then submits the records in a new batch.',
    options: ['review.grace'],
  },
  {
    event: 'batch ERROR',
    connector:
      'Submits the records again, then halves the batch to isolate the poison item, which gets a decision with status ERROR, or a dead letter (`onFailure`).',
    user: 'decisions with `error`',
    options: RETRY_OPTIONS,
  },
  {
    event: 'batch CANCELLED',
    connector: 'As for a batch in ERROR.',
    user: 'decisions with `error`',
    options: RETRY_OPTIONS,
  },
  {
    event: 'import FAILED',
    connector: 'As for a batch in ERROR. The poison record gets a receipt with status ERROR.',
    user: '`jobs_failed_total{reason="batch_failed"}`, receipts with `error`',
    options: RETRY_OPTIONS,
  },
  {
    event: 'batches of a type keep failing',
    connector:
      'Pauses the type after five batches in a row that failed or were less than half settled. Then tries one batch per pause; only that batch counts as an attempt of its records.',
    user: 'Log line at error, `shards_paused{reason="type_blocked"}`',
    options: ['review.pause'],
  },
  {
    event: 'batch unknown to the service',
    connector:
      'Requests the batch or import again for a grace period, then submits the records in a new one.',
    user: 'log line at error',
    options: ['review.grace'],
  },
  {
    event: 'batch stays PENDING',
    connector:
      'Keeps waiting, and logs one line at error. Or, with `onTimeout: error`, publishes decisions with status ERROR or dead letters (`onFailure`).',
    user: OVERDUE,
    options: OVERDUE_OPTIONS,
  },
  {
    event: 'decision unknown to the service',
    connector:
      'After 404, 410, 400, 414 or 422, requests it again for a grace period, then publishes a looked-up decision with status ERROR and code decision_unknown, or a dead letter (`onFailure`). Retries indefinitely after other responses, and while the service does not even find the decision that it returned last.',
    user: '`decisions_total{status="ERROR"}` or `dead_lettered_total{reason="review_failed"}`',
    options: ['review.grace', 'review.onFailure'],
  },
  {
    event: 'decision stays PENDING',
    connector: 'As for a batch.',
    user: OVERDUE,
    options: OVERDUE_OPTIONS,
  },
  {
    event: 'download address expired',
    connector: 'Requests the batch again, which returns a new address, and repeats the download.',
    user: '`http_requests_total{operation="download",code="403"}`, log line at warn',
  },
  {
    event: 'download refused by the connector',
    connector:
      'If an address is not allowed, a file is too large or expands too much, or its encoding is unknown, keeps the settled rows and retries every five minutes. No rows count as missing.',
    user: '`http_requests_total{operation="download",code="blocked"}`, log line at warn with the option, `oldest_unsettled_timestamp_seconds`',
  },
  {
    event: 'download cut or unreadable',
    connector:
      'Keeps the settled rows and repeats the download. Accepts a last row without a line end if three downloads ended with it, the service counts no further rows, and none of its other files ended with a line end. If the file stays unreadable, treats the records without a row like a batch in ERROR.',
    user: '`result_anomalies_total{kind="unreadable"}`, log line at warn',
    options: RETRY_OPTIONS,
  },
  {
    event: 'result files that settle nothing',
    connector:
      'Counts a file without a usable row (a web page, only a header, a missing column, malformed rows) as a failing batch of its type (see above). The records fail permanently only in the one batch per pause, or if other batches of the type are decided.',
    user: 'Log line at error, `shards_paused{reason="type_blocked"}`, `jobs_failed_total{reason="results_unreadable"|"rows_missing"|"rows_malformed"}`',
    options: ['review.pause', ...RETRY_OPTIONS],
  },
  {
    event: 'result rows missing',
    connector:
      'Repeats the download while rows are missing, then treats the records without a row like a batch in ERROR.',
    user: '`result_anomalies_total{kind="missing"}`',
    options: RETRY_OPTIONS,
  },
  {
    event: 'result rows malformed',
    connector:
      'Drops a row that refers to no record of the batch, that has a reference which was not uploaded (`forged`), or that has neither a result nor a final status. If a record has no other row, treats its row as missing. The decision has the reason of the first malformed row.',
    user: '`result_anomalies_total{kind="malformed"|"forged"}`, log line at warn with the first reason and the number of malformed rows, for forged rows also at error',
    options: RETRY_OPTIONS,
  },
  {
    event: 'result rows duplicate, unknown or shuffled',
    connector: 'Settles a record with the first row that refers to it, and drops all other rows.',
    user: '`result_anomalies_total{kind="duplicate"|"forged"}`',
  },
  {
    event: 'result rows with status ERROR',
    connector: 'Publishes decisions with status ERROR.',
    user: '`decisions_total{status="ERROR"}`',
  },
  {
    event: 'unknown columns and states',
    connector:
      'Ignores unknown columns. Logs each unknown state once and treats it as pending, except WATING_FOR_UPLOAD, which counts as WAITING_FOR_UPLOAD. If the result column is missing, decisions have no result. If two columns qualify, uses the column of earlier files.',
    user: 'Log line at warn',
    options: ['review.resultColumn'],
  },
  {
    event: 'source record gone before a retry',
    connector: 'Publishes a dead letter with its coordinates.',
    user: '`dead_lettered_total{reason="source_unavailable"}`',
  },
  {
    event: 'unexpected exception',
    connector:
      'If a record causes the exception, publishes a dead letter with its coordinates. If a result row causes it, treats the row as malformed, or publishes a dead letter for its record. If a response causes it, treats the response as a violation of the API contract. The shard always continues.',
    user: '`internal_errors_total{stage}`, log line at error with topic, partition and offset, `dead_lettered_total{reason="internal_error"}`',
  },
  {
    event: 'unread records removed by retention',
    connector: 'Continues with the oldest remaining record.',
    user: '`unread_records_lost_total`, log line at error',
  },
  {
    event: 'another owner took the shard',
    connector: 'The old owner is fenced, joins the group again and starts from the journal.',
    user: '`rebalances_total`, `claims_total{outcome}`',
  },
  {
    event: 'Kafka unreachable',
    connector: 'Keeps trying, and claims its shards again once the group is available.',
    user: '`kafka_silent_seconds`; not ready (`/readyz`) after `pipelines[].kafka.sessionTimeout`; `consumer_lag` is absent',
  },
  {
    event: 'Kafka refuses the login or the certificate',
    connector:
      'At the start, prints the name of the option and exits. Later, keeps trying with the current password, token and certificates.',
    user: 'Exit code 4 at the start; later not ready (`/readyz`), log line at warn',
  },
  {
    event: 'Kafka certificate expires',
    connector: 'Warns two weeks in advance. Uses a new file from the next connection on.',
    user: '`kafka_tls_certificate_expiry_timestamp_seconds`, log line at warn',
  },
  {
    event: 'right revoked at runtime',
    connector:
      'Rolls back the rejected writes, logs the missing permission, and continues when the permission is restored.',
    user: 'Log line at warn; not ready (`/readyz`)',
  },
  {
    event: 'topic deleted',
    connector:
      'Waits until the topic is created again. Stops the pipeline if the topic is the journal, or if the source was created again, because records would otherwise get two terminal records or none. Other pipelines of the process continue.',
    user: 'Log line at warn or error with the topic and the remedy; not ready (`/readyz`); exit code 4 if no pipeline continues',
  },
  {
    event: 'topics or permissions misconfigured',
    connector: 'Does not start, and prints the required change.',
    user: 'Exit code 4 and a message',
  },
];
