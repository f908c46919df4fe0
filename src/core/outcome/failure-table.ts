/**
 * What goes wrong, and what happens (DESIGN 4): the one table. The engine asks it (failure-policy.ts), docs/failures.md is made
 * from it, and each row has a test in test/integration/failures whose name begins with its event.
 */
import type { FailureRow, Reaction } from './failure-row.ts';

const WAIT: Reaction = { do: 'wait', because: 'service_unavailable' };

export const FAILURE_TABLE: readonly FailureRow[] = [
  {
    event: 'record that cannot be reviewed',
    connector:
      'Makes it a dead letter: original key, value and headers, with reason, message, stage and coordinates in headers.',
    user: '`dead_lettered_total{reason}`',
    options: ['source.types', 'source.nullValues', 'source.maxContent'],
  },
  {
    event: 'record batch that cannot be read',
    connector:
      'Makes a dead letter of each of its offsets that cannot be read, with reason, message and coordinates, and without key, value and headers. Reads on behind it.',
    user: '`dead_lettered_total{reason="unreadable_batch"}`, log line at warn with partition and offsets',
    options: ['source.maxBatchUnpacked'],
  },
  {
    event: 'record too large to be read',
    connector:
      'Passes a record larger than four times the content and metadata allowed without holding it, and makes it a dead letter with reason, message and coordinates alone.',
    user: '`dead_lettered_total{reason="too_large"}`, log line at warn with partition and offset',
    options: ['source.maxContent', 'source.maxMetadata'],
  },
  {
    event: 'record with too many headers',
    connector: 'Makes it a dead letter with reason, message and coordinates alone.',
    user: '`dead_lettered_total{reason="too_many_headers"}`, log line at warn with partition and offset',
    options: ['source.maxHeaders'],
  },
  {
    event: 'type rejected on create',
    connector:
      'Holds the type back and asks again with one batch per pause. What waits keeps no content in memory and is read from the source again, so other types go on, in each partition until `maxInFlight`. By choice: dead letters.',
    user: 'Log line at error, `shards_paused{reason="type_rejected"}`; or `dead_lettered_total{reason="rejected_type"}`',
    options: ['review.onRejectedType', 'review.typePause', 'source.maxInFlight'],
    calls: { create: ['rejected'] },
    reaction: { do: 'reject_type' },
  },
  {
    event: 'API key refused',
    connector:
      'Drops nothing; asks again slowly, one batch of each type, with the key that the file has then. No restart is needed.',
    user: 'Not ready (`/readyz`), `shards_paused{reason="unauthorized"}`',
    options: ['review.authPause'],
    calls: { create: ['unauthorized'], status: ['unauthorized'] },
    reaction: { do: 'wait', because: 'unauthorized' },
  },
  {
    event: 'service overloaded or out of reach',
    connector:
      'Tries again with exponential waits, full jitter and Retry-After as a floor; 429, 503 and timeouts halve how much goes on at once, for the API and for the storage apart. Goes on for as long as it takes.',
    user: '`http_retries_total{operation,reason}`, `http_concurrency_limit{target}`, `shards_paused{reason="service_unavailable"}`',
    calls: { create: ['unavailable'], upload: ['unavailable'], status: ['unavailable'] },
    reaction: WAIT,
  },
  {
    event: 'storage overloaded while results come',
    connector:
      'Keeps what was settled; after the wait that the storage asks for, asks for the batch again and downloads it again.',
    user: '`http_retries_total{operation="download"}`, `http_concurrency_limit{target="storage"}`',
    calls: { results: ['unavailable'] },
    reaction: { do: 'download_again', counted: false },
  },
  {
    event: 'answer that is not what the interface promises',
    connector:
      'Asks again, for as long as it takes: a proxy or a deployment between may be at fault. A lookup whose answer makes no sense ends after `maxReviewTime` if `onTimeout` says so, with the code `decision_unreadable`.',
    user: 'Log line at warn that names the call and what is wrong, `shards_paused{reason="bad_answer"}`, `http_requests_total{code="protocol"}`',
    options: ['review.maxReviewTime', 'review.onTimeout'],
    calls: {
      create: ['protocol', 'not_found', 'too_large', 'expired', 'blocked'],
      status: ['protocol', 'rejected', 'not_found', 'too_large', 'expired', 'blocked'],
    },
    reaction: { do: 'wait', because: 'bad_answer' },
  },
  {
    event: 'create answered unclearly',
    connector: 'Creates again. The orphan has no upload, so it costs nothing.',
    user: '`orphaned_jobs_total`',
  },
  {
    event: 'remote id given twice',
    connector: 'Creates again until the id is new: two batches never share one.',
    user: 'Log line at error',
  },
  {
    event: 'upload address not allowed',
    connector:
      'Sends nothing there (`service.transfer`), gives the batch up and submits the same records in a new one, for as long as it takes; after five in a row the type pauses and one batch per pause is tried. No record is given up for it.',
    user: 'Log line at warn that names the host and the option, `http_requests_total{operation="upload",code="blocked"}`, `jobs_failed_total{reason="upload_blocked"}`, `shards_paused{reason="type_failing"}`',
    options: ['review.typePause'],
    calls: { upload: ['blocked'] },
    reaction: { do: 'fail', as: 'upload_blocked' },
    job: {
      failure: 'upload_blocked',
      again: 'always',
      halved: false,
      pausesType: 'all',
      message: 'the upload address is not one that may be talked to',
    },
    provenBy: {
      file: 'test/unit/pipeline/blocked.test.ts',
      test: 'upload address not allowed: the records go into new batches until the address is allowed, and none is given up',
    },
  },
  {
    event: 'upload address expired',
    connector:
      'Gives the batch up and submits the same records in a new one. If the answer to an earlier try was lost, the file may be there: the batch is then followed first, as if uploaded (`uploadGrace`); so with every other refusal of an upload.',
    user: '`jobs_failed_total{reason="upload_expired"}`',
    calls: { upload: ['expired'] },
    reaction: { do: 'fail', as: 'upload_expired' },
    job: {
      failure: 'upload_expired',
      again: 'always',
      halved: false,
      pausesType: 'all',
      message: 'the upload address expired',
    },
  },
  {
    event: 'upload larger than the storage takes',
    connector:
      'Halves the batch at once; an item that is too large alone gets a decision with status ERROR, or a dead letter (`onFailure`). Where nothing of the type gets through, the type pauses before that (see below).',
    user: '`jobs_failed_total{reason="upload_too_large"}`',
    options: ['review.maxRetryBatches', 'batch.maxBytes', 'review.typePause', 'review.onFailure'],
    calls: { upload: ['too_large'] },
    reaction: { do: 'fail', as: 'upload_too_large' },
    job: {
      failure: 'upload_too_large',
      again: 'never',
      halved: true,
      pausesType: 'given_up',
      message: 'the item alone is larger than the storage takes',
    },
  },
  {
    event: 'upload refused',
    connector: 'Submits the records again, then halves the batch to find what is refused.',
    user: '`jobs_failed_total{reason="upload_rejected"}`',
    options: ['review.attempts', 'review.maxRetryBatches', 'review.onFailure'],
    calls: { upload: ['rejected', 'unauthorized', 'not_found', 'protocol'] },
    reaction: { do: 'fail', as: 'upload_rejected' },
    job: {
      failure: 'upload_rejected',
      again: 'attempts',
      halved: true,
      pausesType: 'all',
      message: 'the storage refused the upload',
    },
  },
  {
    event: 'upload not seen by the service',
    connector:
      'Waits a grace, since storage events come late, looks once more, then gives the batch up and submits its records in a new one.',
    user: '`jobs_failed_total{reason="upload_lost"}`',
    options: ['review.uploadGrace'],
    job: {
      failure: 'upload_lost',
      again: 'always',
      halved: false,
      pausesType: 'all',
      message: 'the upload did not take effect',
    },
  },
  {
    event: 'batch ERROR',
    connector:
      'Submits the records again, then halves the batch until the poison item stands alone: it gets a decision with status ERROR, or a dead letter (`onFailure`), all others their own decisions.',
    user: '`jobs_failed_total{reason="batch_failed"}`, decisions with `error`',
    options: ['review.attempts', 'review.maxRetryBatches', 'review.onFailure'],
    job: {
      failure: 'batch_failed',
      again: 'attempts',
      halved: true,
      pausesType: 'all',
      message: 'the service fails on it, also alone and again',
    },
  },
  {
    event: 'batch CANCELLED',
    connector: 'As for ERROR.',
    user: '`jobs_failed_total{reason="batch_cancelled"}`, decisions with `error`',
    options: ['review.attempts', 'review.maxRetryBatches', 'review.onFailure'],
    job: {
      failure: 'batch_cancelled',
      again: 'attempts',
      halved: true,
      pausesType: 'all',
      message: 'the service cancelled it, also when it was submitted again',
    },
  },
  {
    event: 'import FAILED',
    connector:
      'As for a batch: submits the records again, then halves the import until the poison record stands alone: it gets a receipt with status ERROR, or a dead letter (`onFailure`), all others receipts of their own imports.',
    user: '`jobs_failed_total{reason="batch_failed"}`, receipts with `error`',
    options: ['review.attempts', 'review.maxRetryBatches', 'review.onFailure'],
  },
  {
    event: 'batches of a type keep failing',
    connector:
      'Also batches of which less than half was settled. After five in a row the type pauses; then one batch per pause is let through, and only it counts against its records. Other types go on.',
    user: 'Log line at error, `shards_paused{reason="type_failing"}`',
    options: ['review.typePause'],
  },
  {
    event: 'batch unknown to the service',
    connector:
      'So too an import. Asks on for a grace (404 and 410 may pass), then submits the records in a new batch or import. At once when the batch is of another type than its job: the id was given twice.',
    user: 'Log line at error, `jobs_failed_total{reason="batch_unknown"}`',
    options: ['review.missingGrace'],
    job: {
      failure: 'batch_unknown',
      again: 'always',
      halved: false,
      pausesType: 'all',
      message: 'the service does not know what was submitted',
    },
  },
  {
    event: 'batch PENDING for ever',
    connector:
      'Waits on and alerts once; or its records get decisions with status ERROR, or dead letters (`onFailure`).',
    user: '`jobs_failed_total{reason="review_overdue"}` or `{reason="review_timeout"}`, `oldest_unsettled_timestamp_seconds`',
    options: ['review.maxReviewTime', 'review.onTimeout', 'review.onFailure'],
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
      'Asks on for a grace (404, 410 and a refusal by 400, 414 or 422 may pass; other refusals are waited out), then a looked-up decision with status ERROR and code decision_unknown, or a dead letter (`onFailure`). Waits on while the service does not find the decision either that it returned last: then a route is lost.',
    user: '`decisions_total{status="ERROR"}` or `dead_lettered_total{reason="review_failed"}`',
    options: ['review.missingGrace', 'review.onFailure'],
  },
  {
    event: 'decision PENDING for ever',
    connector:
      'As for a batch: waits on and alerts once; or it ends with status ERROR, or as a dead letter (`onFailure`).',
    user: '`jobs_failed_total{reason="review_overdue"}` or `{reason="review_timeout"}`, `oldest_unsettled_timestamp_seconds`',
    options: ['review.maxReviewTime', 'review.onTimeout', 'review.onFailure'],
  },
  {
    event: 'download address expired',
    connector: 'Asks for the batch again, which brings a new address, and downloads again.',
    user: '`http_requests_total{operation="download",code="403"}`, log line at warn',
    calls: { results: ['expired'] },
    reaction: { do: 'download_again', counted: false },
  },
  {
    event: 'download refused on this side',
    connector:
      'An address that is not allowed, a file larger than `service.transfer.maxResultBytes`, one that grows too much when it is decompressed, or an encoding that nobody here knows: keeps what was settled, and looks again every five minutes, for as long as it takes. Rows never count as missing for it.',
    user: '`http_requests_total{operation="download",code="blocked"}`, log line at warn that names the option, `oldest_unsettled_timestamp_seconds`',
    calls: { results: ['blocked'] },
    reaction: { do: 'download_again', counted: false, afterMs: 300_000 },
    provenBy: {
      file: 'test/unit/pipeline/blocked.test.ts',
      test: 'download refused on this side: it is tried again every five minutes, and rows never count as missing',
    },
  },
  {
    event: 'download cut or unreadable',
    connector:
      'Keeps what was settled and downloads again. A last row without a line end is taken only when three downloads end with the same one, the service counts no more rows, and no other file of it had a line end at its end. When nothing more comes of it, the records without a row are submitted again, then halved until the one whose row breaks the file stands alone: it gets a decision with status ERROR, or a dead letter (`onFailure`), all others their own decisions.',
    user: '`result_anomalies_total{kind="unreadable"}`, `jobs_failed_total{reason="results_unreadable"}`, log line at warn',
    options: [
      'review.downloadRetries',
      'review.attempts',
      'review.maxRetryBatches',
      'review.onFailure',
    ],
    calls: { results: ['protocol', 'rejected', 'unauthorized', 'not_found', 'too_large'] },
    reaction: { do: 'download_again', counted: true },
    job: {
      failure: 'results_unreadable',
      again: 'attempts',
      halved: true,
      pausesType: 'unsettled',
      message:
        'the result file could not be read as far as the row of this item, also when it was submitted alone',
    },
  },
  {
    event: 'result files that settle nothing',
    connector:
      'A web page, a header alone, a column that is not given back, malformed rows: a batch of which less than half was settled counts as a failing batch of its type, which pauses after five in a row (see above). Its records are given up only by the one batch per pause, or when others of the type are decided meanwhile.',
    user: 'Log line at error, `shards_paused{reason="type_failing"}`, `jobs_failed_total{reason="results_unreadable"|"rows_missing"|"rows_malformed"}`',
    options: [
      'review.typePause',
      'review.downloadRetries',
      'review.attempts',
      'review.maxRetryBatches',
      'review.onFailure',
    ],
  },
  {
    event: 'result rows missing',
    connector:
      'Downloads again while the file is short, then submits the records without a row again, and halves what is left as a batch that ERRORs.',
    user: '`result_anomalies_total{kind="missing"}`, `jobs_failed_total{reason="rows_missing"}`',
    options: [
      'review.downloadRetries',
      'review.attempts',
      'review.maxRetryBatches',
      'review.onFailure',
    ],
    job: {
      failure: 'rows_missing',
      again: 'attempts',
      halved: true,
      pausesType: 'unsettled',
      message: 'the results had no row for this item, also after it was submitted again',
    },
  },
  {
    event: 'result rows malformed',
    connector:
      'Counts and drops a row that does not name its record, whose metadata is not what was uploaded, or that has neither a result nor a status that ends a review (empty, PENDING); the records that are left then are submitted again and halved, as those of missing rows. The decision names the first reason.',
    user: '`result_anomalies_total{kind="malformed"}`, `jobs_failed_total{reason="rows_malformed"}`, log line at warn with the first reason and the number of such rows',
    options: ['review.attempts', 'review.maxRetryBatches', 'review.onFailure'],
    job: {
      failure: 'rows_malformed',
      again: 'attempts',
      halved: true,
      pausesType: 'unsettled',
      message: 'the results had no readable row for this item, but malformed ones',
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
    event: 'columns and states never seen before',
    connector:
      'Tolerates them; an unknown state counts as pending, WATING_FOR_UPLOAD as WAITING_FOR_UPLOAD. Logs each once. In the same way it tolerates results without a documented column, or with a second column that might be the one of the result: decisions then have no result, or that of the column seen before.',
    user: 'Log line at warn',
    options: ['review.resultColumn'],
  },
  {
    event: 'source record gone before a retry',
    connector:
      'Makes it a dead letter with its coordinates: the content was in the source topic alone.',
    user: '`dead_lettered_total{reason="source_unavailable"}`',
  },
  {
    event: 'exception that no rule foresees',
    connector:
      'A record on which the connector itself fails becomes a dead letter with its coordinates; such a result row counts as malformed, or its record becomes such a dead letter; such an answer of the service counts as not what the interface promises. The shard goes on.',
    user: '`internal_errors_total{stage}`, log line at error with topic, partition and offset, `dead_lettered_total{reason="internal_error"}`',
    provenBy: {
      file: 'test/unit/pipeline/internal-errors.test.ts',
      test: 'records of which none can be written as a row end as dead letters, and what comes later is submitted',
    },
  },
  {
    event: 'unread records removed by retention',
    connector: 'Goes on with the oldest record that is still there.',
    user: '`unread_records_lost_total`, log line at error',
  },
  {
    event: 'another owner took the shard',
    connector:
      'The old owner is fenced and can commit nothing; it joins again and starts from the journal.',
    user: '`rebalances_total`, `claims_total{outcome}`',
  },
  {
    event: 'Kafka out of reach',
    connector: 'Stands still, keeps trying, and claims its shards again when the group answers.',
    user: 'Not ready (`/readyz`); `consumer_lag` stays as it was, nobody can tell',
    provenBy: {
      file: 'test/integration/kafka/group-failures.test.ts',
      test: 'is told of the loss when the broker goes, and comes back with it',
    },
  },
  {
    event: 'Kafka refuses the login or the certificate',
    connector:
      'At the start: ends, and names the option. While it runs: keeps trying, with the password, token and certificates that their files or the token endpoint have by then.',
    user: 'Exit code 4 at the start; then not ready (`/readyz`), log line at warn',
    provenBy: {
      file: 'test/integration/kafka/security-login.suite.ts',
      test: 'uses the password that its file has by then, for new connections',
    },
  },
  {
    event: 'a certificate of the connections to Kafka comes to its end',
    connector: 'Says so two weeks before; takes the new file with the next connection.',
    user: '`kafka_tls_certificate_expiry_timestamp_seconds`, log line at warn',
    provenBy: {
      file: 'test/unit/kafka/security/tls-material.test.ts',
      test: 'are told two weeks before, once each, and the first end is what the metric has',
    },
  },
  {
    event: 'a right is taken away while it runs',
    connector:
      'Rolls back what it may not write, names the right, and claims the shard again until it is back.',
    user: 'Log line at warn; exit code 4 when the shard itself may not be claimed',
    provenBy: {
      file: 'test/integration/kafka/security-rights.suite.ts',
      test: 'makes its journal, moves every record, waits while a right is taken away, and loses nothing',
    },
  },
  {
    event: 'topics or permissions not as they must be',
    connector: 'Refuses to start, and says what to change.',
    user: 'Exit code 4 and a message',
  },
];
