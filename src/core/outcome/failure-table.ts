/**
 * Table of failures and their handling. The engine decides by it (failure-policy.ts),
 * docs/failures.md is generated from it, and each row has a test in test/integration/failures whose
 * name begins with its event.
 */
import type { FailureRow, JobRule, Reaction } from './failure-row.ts';

const WAIT: Reaction = { do: 'wait', because: 'service_unavailable' };

/** The service never reviewed the batch: giving its records up would lose decisions. */
const RESUBMITTED = { again: 'always', halved: false, pausesType: 'all' } as const;
/** One of the records may be the cause. */
const HALVED = { again: 'attempts', halved: true, pausesType: 'all' } as const;
const ROWS_HALVED = { ...HALVED, pausesType: 'unsettled' } as const satisfies Partial<JobRule>;

const RETRY_OPTIONS = ['review.attempts', 'review.maxRetryBatches', 'review.onFailure'];
const DOWNLOAD_OPTIONS = ['review.downloadRetries', ...RETRY_OPTIONS];
const OVERDUE_OPTIONS = ['review.maxReviewTime', 'review.onTimeout', 'review.onFailure'];
const OVERDUE =
  '`jobs_failed_total{reason="review_overdue"}` or `{reason="review_timeout"}`, `oldest_unsettled_timestamp_seconds`';

export const FAILURE_TABLE: readonly FailureRow[] = [
  {
    event: 'record that cannot be reviewed',
    connector:
      'Publishes a dead letter: original key, value and headers, with reason, message, stage and coordinates in headers.',
    user: '`dead_lettered_total{reason}`',
    options: ['source.types', 'source.nullValues', 'source.maxContent'],
  },
  {
    event: 'record batch that cannot be read',
    connector:
      'Publishes a dead letter for each of its unreadable offsets, with reason, message and coordinates only, and continues behind it.',
    user: '`dead_lettered_total{reason="unreadable_batch"}`, log line at warn with partition and offsets',
    options: ['source.maxBatchUnpacked'],
  },
  {
    event: 'record too large to be read',
    connector:
      'Skips a record larger than four times the allowed content and metadata without buffering it, and publishes a dead letter with reason, message and coordinates only.',
    user: '`dead_lettered_total{reason="too_large"}`, log line at warn with partition and offset',
    options: ['source.maxContent', 'source.maxMetadata'],
  },
  {
    event: 'record with too many headers',
    connector: 'Publishes a dead letter with reason, message and coordinates only.',
    user: '`dead_lettered_total{reason="too_many_headers"}`, log line at warn with partition and offset',
    options: ['source.maxHeaders'],
  },
  {
    event: 'type rejected on create',
    connector:
      'Pauses the type and tries one batch per pause. Its records are not kept in memory but read again later, so other types continue, in each partition until `maxInFlight`. Alternatively: dead letters.',
    user: 'Log line at error, `shards_paused{reason="type_rejected"}`; or `dead_lettered_total{reason="rejected_type"}`',
    options: ['review.onRejectedType', 'review.typePause', 'source.maxInFlight'],
    calls: { create: ['rejected'] },
    reaction: { do: 'reject_type' },
  },
  {
    event: 'API key refused',
    connector:
      'Drops nothing; retries slowly, with one batch of each type, using the key that is in the file by then. No restart is needed.',
    user: 'Not ready (`/readyz`), `shards_paused{reason="unauthorized"}`',
    options: ['review.authPause'],
    calls: { create: ['unauthorized'], status: ['unauthorized'] },
    reaction: { do: 'wait', because: 'unauthorized' },
  },
  {
    event: 'service overloaded or unreachable',
    connector:
      'Retries indefinitely, with exponential backoff, full jitter and Retry-After as the minimum; 429, 503 and timeouts halve the concurrency, separately for API and storage.',
    user: '`http_retries_total{operation,reason}`, `http_concurrency_limit{target}`, `shards_paused{reason="service_unavailable"}`',
    calls: { create: ['unavailable'], upload: ['unavailable'], status: ['unavailable'] },
    reaction: WAIT,
  },
  {
    event: 'storage overloaded during a download',
    connector:
      'Keeps what was settled; after the wait that the storage demands, requests the batch again and repeats the download.',
    user: '`http_retries_total{operation="download"}`, `http_concurrency_limit{target="storage"}`',
    calls: { results: ['unavailable'] },
    reaction: { do: 'download_again', counted: false },
  },
  {
    event: 'response that violates the API contract',
    connector:
      'Retries indefinitely: an intermediate proxy or a deployment may be the cause. A lookup with unusable responses ends after `maxReviewTime` if `onTimeout` is `error`, with the code `decision_unreadable`.',
    user: 'Log line at warn with call and cause, `shards_paused{reason="bad_answer"}`, `http_requests_total{code="protocol"}`',
    options: ['review.maxReviewTime', 'review.onTimeout'],
    calls: {
      create: ['protocol', 'not_found', 'too_large', 'expired', 'blocked'],
      status: ['protocol', 'rejected', 'not_found', 'too_large', 'expired', 'blocked'],
    },
    reaction: { do: 'wait', because: 'bad_answer' },
  },
  {
    event: 'create without a clear response',
    connector: 'Creates again. The orphan has no upload, so it costs nothing.',
    user: '`orphaned_jobs_total`',
  },
  {
    event: 'remote id returned twice',
    connector: 'Creates again until the id is new: two batches never share one.',
    user: 'Log line at error',
  },
  {
    event: 'upload address not allowed',
    connector:
      'Sends nothing there (`service.transfer`), abandons the batch and submits its records in a new one, indefinitely; after five in a row the type pauses and one batch per pause is tried. Gives no record up.',
    user: 'Log line at warn with the host and the option, `http_requests_total{operation="upload",code="blocked"}`, `jobs_failed_total{reason="upload_blocked"}`, `shards_paused{reason="type_failing"}`',
    options: ['review.typePause'],
    calls: { upload: ['blocked'] },
    reaction: { do: 'fail', as: 'upload_blocked' },
    job: {
      failure: 'upload_blocked',
      ...RESUBMITTED,
      message: 'the upload address is not allowed',
    },
  },
  {
    event: 'upload address expired',
    connector:
      'Abandons the batch and submits its records in a new one. If the response to an earlier attempt was lost, the file may have arrived: the batch is then followed first, as if uploaded (`uploadGrace`). The same holds for every other refused upload.',
    user: '`jobs_failed_total{reason="upload_expired"}`',
    calls: { upload: ['expired'] },
    reaction: { do: 'fail', as: 'upload_expired' },
    job: { failure: 'upload_expired', ...RESUBMITTED, message: 'the upload address expired' },
  },
  {
    event: 'upload too large for the storage',
    connector:
      'Halves the batch at once; an item that alone is too large gets a decision with status ERROR, or a dead letter (`onFailure`). If no batch of the type succeeds, the type pauses before that (see below).',
    user: '`jobs_failed_total{reason="upload_too_large"}`',
    options: ['review.maxRetryBatches', 'batch.maxBytes', 'review.typePause', 'review.onFailure'],
    calls: { upload: ['too_large'] },
    reaction: { do: 'fail', as: 'upload_too_large' },
    job: {
      failure: 'upload_too_large',
      again: 'never',
      halved: true,
      pausesType: 'given_up',
      message: 'the item alone is too large for the storage',
    },
  },
  {
    event: 'upload refused',
    connector: 'Submits the records again, then halves the batch to find the refused ones.',
    user: '`jobs_failed_total{reason="upload_rejected"}`',
    options: RETRY_OPTIONS,
    calls: { upload: ['rejected', 'unauthorized', 'not_found', 'protocol'] },
    reaction: { do: 'fail', as: 'upload_rejected' },
    job: { failure: 'upload_rejected', ...HALVED, message: 'the storage refused the upload' },
  },
  {
    event: 'upload not seen by the service',
    connector:
      'Waits for a grace period, since storage events may be late, and checks once more; then abandons the batch and submits its records in a new one.',
    user: '`jobs_failed_total{reason="upload_lost"}`',
    options: ['review.uploadGrace'],
    job: { failure: 'upload_lost', ...RESUBMITTED, message: 'the upload had no effect' },
  },
  {
    event: 'batch ERROR',
    connector:
      'Submits the records again, then halves the batch until the poison item is alone: it gets a decision with status ERROR, or a dead letter (`onFailure`), all others their own decisions.',
    user: '`jobs_failed_total{reason="batch_failed"}`, decisions with `error`',
    options: RETRY_OPTIONS,
    job: {
      failure: 'batch_failed',
      ...HALVED,
      message: 'the service fails on it repeatedly, also when it is submitted alone',
    },
  },
  {
    event: 'batch CANCELLED',
    connector: 'As for ERROR.',
    user: '`jobs_failed_total{reason="batch_cancelled"}`, decisions with `error`',
    options: RETRY_OPTIONS,
    job: { failure: 'batch_cancelled', ...HALVED, message: 'the service cancelled it repeatedly' },
  },
  {
    event: 'import FAILED',
    connector:
      'As for a batch: submits the records again, then halves the import until the poison record is alone: it gets a receipt with status ERROR, or a dead letter (`onFailure`), all others receipts of their own imports.',
    user: '`jobs_failed_total{reason="batch_failed"}`, receipts with `error`',
    options: RETRY_OPTIONS,
  },
  {
    event: 'batches of a type keep failing',
    connector:
      'Includes batches of which less than half was settled. After five in a row the type pauses; then one batch per pause is tried, and only that one counts against its records. Other types continue.',
    user: 'Log line at error, `shards_paused{reason="type_failing"}`',
    options: ['review.typePause'],
  },
  {
    event: 'batch unknown to the service',
    connector:
      'Requests it again for a grace period (404 and 410 may be transient), then submits the records in a new batch; imports alike. At once if the service reports another content type for the batch: then the id was assigned twice, and the results follow the rules of that type. After three such batches of a type in a row it is the name that the service has for the type.',
    user: 'Log line at error, `jobs_failed_total{reason="batch_unknown"}`',
    options: ['review.missingGrace'],
    job: {
      failure: 'batch_unknown',
      ...RESUBMITTED,
      message: 'the service does not know the batch that was submitted',
    },
  },
  {
    event: 'batch stays PENDING',
    connector:
      'Continues to wait, with one alert; or its records get decisions with status ERROR, or dead letters (`onFailure`).',
    user: OVERDUE,
    options: OVERDUE_OPTIONS,
    job: {
      failure: 'review_timeout',
      again: 'never',
      halved: false,
      pausesType: 'none',
      message: 'the service did not finish it in time',
    },
  },
  {
    event: 'decision unknown to the service',
    connector:
      'Requests it again for a grace period (404, 410 and a refusal by 400, 414 or 422 may be transient; other refusals are waited out), then publishes a looked-up decision with status ERROR and code decision_unknown, or a dead letter (`onFailure`). Continues to wait while the service does not find the last decision that it returned either: then a route is lost.',
    user: '`decisions_total{status="ERROR"}` or `dead_lettered_total{reason="review_failed"}`',
    options: ['review.missingGrace', 'review.onFailure'],
  },
  {
    event: 'decision stays PENDING',
    connector:
      'As for a batch: continues to wait, with one alert; or it ends with status ERROR, or as a dead letter (`onFailure`).',
    user: OVERDUE,
    options: OVERDUE_OPTIONS,
  },
  {
    event: 'download address expired',
    connector: 'Requests the batch again, which returns a new address, and repeats the download.',
    user: '`http_requests_total{operation="download",code="403"}`, log line at warn',
    calls: { results: ['expired'] },
    reaction: { do: 'download_again', counted: false },
  },
  {
    event: 'download refused by the connector',
    connector:
      'For an address that is not allowed, a file larger than `service.transfer.maxResultBytes`, excessive decompression, or an unknown encoding: keeps what was settled, and retries every five minutes, indefinitely. Rows never count as missing.',
    user: '`http_requests_total{operation="download",code="blocked"}`, log line at warn with the option, `oldest_unsettled_timestamp_seconds`',
    calls: { results: ['blocked'] },
    reaction: { do: 'download_again', counted: false, afterMs: 300_000 },
  },
  {
    event: 'download cut or unreadable',
    connector:
      'Keeps what was settled and repeats the download. A last row without a line end is accepted only if three downloads end with the same one, the service counts no more rows, and no other file of it ended with a line end. If the file stays unreadable, the records without a row are submitted again, then halved until the one whose row breaks the file is alone: it gets a decision with status ERROR, or a dead letter (`onFailure`), all others their own decisions.',
    user: '`result_anomalies_total{kind="unreadable"}`, `jobs_failed_total{reason="results_unreadable"}`, log line at warn',
    options: DOWNLOAD_OPTIONS,
    calls: { results: ['protocol', 'rejected', 'unauthorized', 'not_found', 'too_large'] },
    reaction: { do: 'download_again', counted: true },
    job: {
      failure: 'results_unreadable',
      ...ROWS_HALVED,
      message:
        'the result file was unreadable before the row of this item, also when it was submitted alone',
    },
  },
  {
    event: 'result files that settle nothing',
    connector:
      'A web page, a header alone, a column that is not returned, malformed rows: a batch of which less than half was settled counts as a failing batch of its type, which pauses after five in a row (see above). Its records are given up only by the one batch per pause, or if others of the type are decided meanwhile.',
    user: 'Log line at error, `shards_paused{reason="type_failing"}`, `jobs_failed_total{reason="results_unreadable"|"rows_missing"|"rows_malformed"}`',
    options: ['review.typePause', ...DOWNLOAD_OPTIONS],
  },
  {
    event: 'result rows missing',
    connector:
      'Repeats the download while the file is short, then submits the records without a row again, and halves the rest like a batch in ERROR.',
    user: '`result_anomalies_total{kind="missing"}`, `jobs_failed_total{reason="rows_missing"}`',
    options: DOWNLOAD_OPTIONS,
    job: {
      failure: 'rows_missing',
      ...ROWS_HALVED,
      message: 'the results had no row for this item, also after it was submitted again',
    },
  },
  {
    event: 'result rows malformed',
    connector:
      'Counts and drops a row that does not name its record, whose metadata differs from what was uploaded, or that has neither a result nor a final status (empty, PENDING); records without another row are submitted again and halved, as for missing rows. The decision states the first reason.',
    user: '`result_anomalies_total{kind="malformed"}`, `jobs_failed_total{reason="rows_malformed"}`, log line at warn with the first reason and the number of such rows',
    options: RETRY_OPTIONS,
    job: {
      failure: 'rows_malformed',
      ...ROWS_HALVED,
      message: 'the results had only malformed rows for this item',
    },
  },
  {
    event: 'result rows duplicate, unknown or shuffled',
    connector:
      'The first row that names a record settles it; every other is counted and dropped. The order does not matter.',
    user: '`result_anomalies_total{kind="duplicate"|"unknown"}`',
  },
  {
    event: 'result rows with status ERROR',
    connector: 'Publishes them as they are; or submits those items again first.',
    user: '`decisions_total{status="ERROR"}`, `items_resubmitted_total`',
    options: ['review.errorRowAttempts'],
    job: {
      failure: 'rows_failed',
      again: 'always',
      halved: false,
      pausesType: 'none',
      message: 'the service could not review this item, also when it was submitted again',
    },
  },
  {
    event: 'unknown columns and states',
    connector:
      'Tolerates them, and logs each once; an unknown state counts as pending, WATING_FOR_UPLOAD as WAITING_FOR_UPLOAD. Results without a documented column, or with a second candidate for the result column, are tolerated as well: decisions then have no result, or that of the column seen before.',
    user: 'Log line at warn',
    options: ['review.resultColumn'],
  },
  {
    event: 'source record gone before a retry',
    connector:
      'Publishes a dead letter with its coordinates: only the source topic had its content.',
    user: '`dead_lettered_total{reason="source_unavailable"}`',
  },
  {
    event: 'unexpected exception',
    connector:
      'A record on which the connector itself fails becomes a dead letter with its coordinates; such a result row counts as malformed, or its record becomes such a dead letter; such a response counts as a violation of the API contract. The shard continues.',
    user: '`internal_errors_total{stage}`, log line at error with topic, partition and offset, `dead_lettered_total{reason="internal_error"}`',
  },
  {
    event: 'unread records removed by retention',
    connector: 'Continues with the oldest remaining record.',
    user: '`unread_records_lost_total`, log line at error',
  },
  {
    event: 'another owner took the shard',
    connector:
      'The old owner is fenced and can commit nothing; it joins again and starts from the journal.',
    user: '`rebalances_total`, `claims_total{outcome}`',
  },
  {
    event: 'Kafka unreachable',
    connector: 'Stops, keeps trying, and claims its shards again once the group is available.',
    user: 'Not ready (`/readyz`); `consumer_lag` keeps its last value',
  },
  {
    event: 'Kafka refuses the login or the certificate',
    connector:
      'At the start: ends, and names the option. Later: keeps trying, with the password, token and certificates that the files or the token endpoint have by then.',
    user: 'Exit code 4 at the start; later not ready (`/readyz`), log line at warn',
  },
  {
    event: 'Kafka certificate expires',
    connector: 'Warns two weeks before; uses the new file from the next connection on.',
    user: '`kafka_tls_certificate_expiry_timestamp_seconds`, log line at warn',
  },
  {
    event: 'right revoked at runtime',
    connector:
      'Rolls back the refused writes, names the right, and claims the shard again until it is restored.',
    user: 'Log line at warn; exit code 4 if the claim itself is refused',
  },
  {
    event: 'topics or permissions misconfigured',
    connector: 'Refuses to start, and names the change.',
    user: 'Exit code 4 and a message',
  },
];
