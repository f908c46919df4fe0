/**
 * List of all metrics. Code, tests, dashboard and docs/metrics.md are based on it.
 *
 * Names omit the prefix `content_review_`. Units are base units (seconds, bytes). Label values
 * never come from content, remote ids or error messages. LABELS describes each label.
 */
import { DEAD_LETTER_REASONS } from '../core/outcome/dead-letter-reason.ts';

export interface MetricDefinition {
  readonly kind: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels: readonly LabelName[];
  /**
   * Label values of a counter whose series start at 0 when the pipeline starts. Otherwise,
   * `increase()` would miss the event that creates a series. Further values may appear later.
   */
  readonly startsWith?: StartValues | undefined;
  /** Upper bounds of a histogram's buckets, in ascending order and in base units. */
  readonly buckets?: readonly number[];
}

type StartValues = Partial<Record<LabelName, readonly string[]>>;

/** Descriptions of labels. Each label has a small, closed set of values. */
export const LABELS = {
  pipeline: 'Name of the pipeline, as configured.',
  service: 'Name of the service: an entry of `services`, or default for `service`.',
  limit: 'Limit of `quota`: rowsPerMinute, rowsPerDay, rowsUnderReview.',
  lane: 'Name of the lane, as configured, or default.',
  reason: 'Reason, from a closed list in the code.',
  status: 'Status of a decision: SUCCESS or ERROR.',
  result:
    "Result in the service's spelling; `other` for results after the first 20, and for results that are not names (at most 64 letters, digits, spaces and `_.:/-`).",
  kind: 'Kind of anomaly: duplicate, malformed, forged, missing, unreadable.',
  outcome: 'Outcome: committed, owned, or the kind of failure.',
  operation: 'Operation of the service: create_batch, get_batch, upload, download, …',
  code: 'HTTP status, or the kind of failure if there was no response.',
  stage:
    'Stage of a batch: buffer (until sealed), create, journal, upload, review, download (each reading of the results), settle (the last download and its transactions). For an internal error: the stage of its dead letter, or the call.',
  state:
    "State of a batch (uploading, reviewing, settling, retrying), or of a shard under an operator's command (paused, draining, drained).",
  condition: 'Name of a readiness condition.',
  certificate: 'Owner of the certificate: client, ca or broker.',
  version: 'Version of the connector.',
  node: 'Version of Node.js.',
} as const;

type LabelName = keyof typeof LABELS;

const PIPELINE = ['pipeline'] as const;

function counter(help: string, labels: readonly LabelName[] = PIPELINE, startsWith?: StartValues) {
  return { kind: 'counter', help, labels, startsWith } as const;
}

function gauge(help: string, labels: readonly LabelName[] = PIPELINE) {
  return { kind: 'gauge', help, labels } as const;
}

function histogram(
  help: string,
  buckets: readonly number[],
  labels: readonly LabelName[] = PIPELINE,
) {
  return { kind: 'histogram', help, labels, buckets } as const;
}

/** Buckets for all stages. A transfer takes milliseconds, a review up to a day. */
const STAGE_SECONDS = [
  0.005, 0.02, 0.1, 0.5, 1, 2.5, 5, 15, 30, 60, 300, 900, 3_600, 14_400, 43_200, 86_400,
];
const REQUEST_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const TRANSACTION_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60];
const ROWS = [1, 10, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 50_000, 100_000];

export const METRICS = {
  // ── Input and output: the two sides of the balance ───────────────────────────────────────────
  events_consumed_total: counter('Source records consumed: decoded, dead-lettered or skipped.'),
  events_skipped_total: counter('Source records skipped by configuration.', ['pipeline', 'reason']),
  decisions_total: counter('Decisions published, by status.', ['pipeline', 'status'], {
    status: ['SUCCESS', 'ERROR'],
  }),
  decision_results_total: counter('Published decisions that have a result, by result.', [
    'pipeline',
    'result',
  ]),
  dead_lettered_total: counter(
    'Source records published as dead letters.',
    ['pipeline', 'reason'],
    { reason: DEAD_LETTER_REASONS },
  ),
  event_to_decision_seconds: histogram(
    "Time from the oldest source record of a batch to the commit of each decision: an upper bound of the event's latency.",
    STAGE_SECONDS,
  ),
  decisions_late_total: counter(
    'Decisions whose time since the oldest source record of their batch exceeded the objective of their lane.',
  ),
  objective_age_seconds: gauge(
    '`objective.age` of each lane. The default lane has the value of the pipeline.',
    ['pipeline', 'lane'],
  ),
  objective_in_time_ratio: gauge(
    '`objective.share` of the pipeline; the labels name its service.',
    ['pipeline', 'service'],
  ),
  items_recovered_total: counter(
    'Items found in live jobs when a shard was claimed: an earlier owner consumed them.',
  ),
  items_released_total: counter(
    'Items in flight when a shard was released; the next owner recovers them.',
  ),
  items_in_flight: gauge('Items consumed or recovered and not yet settled.'),
  items_buffered: gauge('Items in batches that are not sealed yet.'),
  balance_items: gauge(
    'consumed + recovered - decided - dead-lettered - skipped - released - in flight: 0 when in balance.',
  ),
  consumer_lag: gauge(
    'Source records of the owned shards that are not read yet, including those of open transactions. Up to 5 seconds old; absent while it is unknown, because a shard is being claimed or the brokers do not respond.',
  ),
  oldest_unsettled_timestamp_seconds: gauge(
    'Timestamp of the oldest source record in flight; absent if there is none.',
  ),
  lane_items_in_flight: gauge(
    'Items in flight by lane; a pipeline without lanes has only the default lane.',
    ['pipeline', 'lane'],
  ),
  lane_oldest_timestamp_seconds: gauge(
    'Timestamp of the oldest source record in flight in a lane; absent when there is none.',
    ['pipeline', 'lane'],
  ),
  quota_rows_left: gauge(
    'Number of rows that a limit of `quota` still allows the owned shards to submit; absent for a limit that is not set.',
    ['pipeline', 'limit'],
  ),
  internal_errors_total: counter(
    'Unexpected exceptions, which are bugs. Each affects one record (dead letter), one result row or one call.',
    ['pipeline', 'stage'],
    { stage: ['decode', 'create', 'rewind', 'settle', 'upload', 'status', 'results'] },
  ),
  unread_records_lost_total: counter(
    'Source records that retention removed before they were read.',
  ),
  reset_skipped_records_total: counter(
    "Source records skipped because the group's offset was moved forward from outside.",
  ),

  // ── Batches ──────────────────────────────────────────────────────────────────────────────────
  batches: gauge('Live batches, by state.', ['pipeline', 'state']),
  oldest_batch_timestamp_seconds: gauge(
    'Creation time of the oldest live batch in a state; absent if there is none.',
    ['pipeline', 'state'],
  ),
  batches_created_total: counter('Batches created at the service.'),
  batch_rows: histogram('Rows of a sealed batch.', ROWS),
  stage_duration_seconds: histogram('Time a batch spent in a stage.', STAGE_SECONDS, [
    'pipeline',
    'stage',
  ]),
  jobs_failed_total: counter('Attempts that ended without results, by code (docs/failures.md).', [
    'pipeline',
    'reason',
  ]),
  orphaned_jobs_total: counter(
    'Create calls with an unknown outcome. The service may have an empty batch whose id is unknown.',
    [],
  ),
  items_resubmitted_total: counter('Items submitted again in a new batch.'),
  result_anomalies_total: counter(
    'Anomalies of result files. Such rows are counted, but never published.',
    ['pipeline', 'kind'],
    { kind: ['duplicate', 'malformed', 'forged', 'missing', 'unreadable'] },
  ),

  // ── Kafka ────────────────────────────────────────────────────────────────────────────────────
  rebalances_total: counter('Consumer group generations that this instance joined.'),
  claims_total: counter('Claims of a shard, by outcome.', ['pipeline', 'outcome']),
  shards_owned: gauge('Shards claimed by this instance.'),
  shards_paused: gauge(
    'Shards, partitions and content types that wait, by reason (docs/operating.md).',
    ['pipeline', 'reason'],
  ),
  control: gauge(
    "Owned shards by the state of an operator's command: paused, draining, drained (docs/control.md).",
    ['pipeline', 'state'],
  ),
  transactions_total: counter('Kafka transactions, by outcome.', ['pipeline', 'outcome']),
  transaction_duration_seconds: histogram(
    'Duration of a Kafka transaction, from its first send to its commit.',
    TRANSACTION_SECONDS,
  ),

  // ── The Content Review Service ───────────────────────────────────────────────────────────────
  http_requests_total: counter(
    'Requests to the service and its storage. Code protocol: a successful response that violates the API contract.',
    ['service', 'operation', 'code'],
  ),
  http_retries_total: counter('Retried requests, by cause.', ['service', 'operation', 'reason']),
  http_request_duration_seconds: histogram(
    'Duration of one request with its body, without retries.',
    REQUEST_SECONDS,
    ['service', 'operation'],
  ),

  // ── The schema registry ──────────────────────────────────────────────────────────────────────
  schema_registry_requests_total: counter(
    'Requests to the schema registry, by HTTP status or cause of failure.',
    ['operation', 'code'],
  ),

  // ── The process ──────────────────────────────────────────────────────────────────────────────
  memory_budget_bytes: gauge('Budget for buffers, sealed bodies and result chunks.', []),
  memory_used_bytes: gauge('Used part of the budget.', []),
  kafka_silent_seconds: gauge(
    'Time for which no Kafka broker has responded although requests were sent; 0 while one responds.',
    [],
  ),
  kafka_tls_certificate_expiry_timestamp_seconds: gauge(
    'Earliest expiry of a certificate on the connections to Kafka.',
    ['certificate'],
  ),
  log_lines_dropped_total: counter(
    'Log lines dropped because standard output was not read fast enough.',
    [],
  ),
  transactions_stuck: gauge(
    'Kafka transactions without a response for far longer than their timeout; /livez names the shards.',
    [],
  ),
  ready: gauge('1 while a readiness condition is met, else 0; /readyz has the reason.', [
    'condition',
  ]),
  build_info: gauge('Always 1; the labels name the versions.', ['version', 'node']),
} as const satisfies Record<string, MetricDefinition>;

export type MetricName = keyof typeof METRICS;
