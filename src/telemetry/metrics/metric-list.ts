/**
 * Every metric of the connector: the one list that the code, the tests and docs/metrics.md are made from.
 *
 * Names are written without the prefix `content_review_`. Units are base units (seconds, bytes). No label may take values
 * from content, from a remote id or from an error message: LABELS says where the values of each label come from.
 */

import { DEAD_LETTER_REASONS } from '../../core/record.ts';

export interface MetricDefinition {
  readonly kind: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels: readonly LabelName[];
  /**
   * Values that the labels of a counter begin with, at 0, beside those of `pipeline`: `increase()` does not see the first event of a
   * series that appears with it. Others may follow.
   */
  readonly startsWith?: Partial<Record<LabelName, readonly string[]>>;
  /** Upper bounds of a histogram's buckets, ascending; base units. */
  readonly buckets?: readonly number[];
}

/** Where the values of a label come from. Each set is small and closed. */
export const LABELS = {
  pipeline: 'Name of the pipeline, as configured.',
  reason: 'Why, from a closed list in the code.',
  status: 'Status of a decision: SUCCESS or ERROR.',
  result:
    'Result as the service names it. The first `metrics.maxResults` of a pipeline have a series each; later ones, and those that do not look like a name (64 letters, digits, spaces and `_.:/-` at most), are `other`.',
  kind: 'Kind of anomaly: duplicate, unknown, malformed, missing, unreadable.',
  outcome: 'How it ended: committed, owned, or the kind of failure.',
  operation: 'Operation of the service: create_batch, get_batch, upload, download, …',
  target:
    'Hosts that are loaded apart: api (calls to baseUrl) or storage (uploads, and as many downloads).',
  code: 'HTTP status, or the kind of failure when there was no answer.',
  stage:
    'Stage of a batch: buffer (until sealed), create, journal, upload, review (from its creation to the last look at its results), download (reading them, each time), settle (the last download and the transactions of its rows). Of internal errors: the stage of the dead letter (decode, create, rewind, settle), or the call to the service (create, upload, status, results).',
  state:
    'State of a batch (uploading, reviewing, settling, retrying), or of a loop (running, waiting, stuck).',
  condition: 'Name of a readiness condition.',
  certificate: 'Whose certificate: client, ca or broker.',
  version: 'Version of the connector.',
  node: 'Version of Node.js.',
} as const;

export type LabelName = keyof typeof LABELS;

/** A presigned transfer of a small file takes milliseconds, a review up to a day: one scale for all stages, so that they compare. */
const STAGE_SECONDS = [
  0.005, 0.02, 0.1, 0.5, 1, 2.5, 5, 15, 30, 60, 300, 900, 3_600, 14_400, 43_200, 86_400,
];
const REQUEST_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const TRANSACTION_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60];
const ROWS = [1, 10, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 50_000, 100_000];
const KIB = 1_024;
const MIB = 1_024 * KIB;
const BODY_BYTES = [
  KIB,
  16 * KIB,
  64 * KIB,
  256 * KIB,
  MIB,
  2 * MIB,
  4 * MIB,
  8 * MIB,
  16 * MIB,
  64 * MIB,
];

export const METRICS = {
  // ── What goes in and what comes out: the two sides of the balance ────────────────────────────────────────────────
  events_consumed_total: {
    kind: 'counter',
    help: 'Source records taken in: decoded, dead-lettered or skipped.',
    labels: ['pipeline'],
  },
  events_skipped_total: {
    kind: 'counter',
    help: 'Source records passed over by configuration; they get no terminal record.',
    labels: ['pipeline', 'reason'],
  },
  decisions_total: {
    kind: 'counter',
    help: 'Decisions published, by their status.',
    labels: ['pipeline', 'status'],
    startsWith: { status: ['SUCCESS', 'ERROR'] },
  },
  decision_results_total: {
    kind: 'counter',
    help: 'Decisions published, by their result; those without one (imports, most errors) are in decisions_total only.',
    labels: ['pipeline', 'result'],
  },
  dead_lettered_total: {
    kind: 'counter',
    help: 'Source records published as dead letters.',
    labels: ['pipeline', 'reason'],
    startsWith: { reason: DEAD_LETTER_REASONS },
  },
  event_to_decision_seconds: {
    kind: 'histogram',
    help: "From the timestamp of a batch's oldest source record to the commit of its decisions, once for each decision: no event waited longer than is said of it.",
    labels: ['pipeline'],
    buckets: STAGE_SECONDS,
  },
  items_recovered_total: {
    kind: 'counter',
    help: 'Items found in live jobs when a shard was claimed: another owner, or an earlier life of this one, took them in.',
    labels: ['pipeline'],
  },
  items_released_total: {
    kind: 'counter',
    help: 'Items in flight when a shard was given up; the next owner recovers them.',
    labels: ['pipeline'],
  },
  items_in_flight: {
    kind: 'gauge',
    help: 'Items consumed or recovered, not yet settled.',
    labels: ['pipeline'],
  },
  items_buffered: {
    kind: 'gauge',
    help: 'Items waiting in a buffer for their batch to be sealed.',
    labels: ['pipeline'],
  },
  balance_items: {
    kind: 'gauge',
    help: 'consumed + recovered - decided - dead-lettered - skipped - released - in flight: 0 when in balance.',
    labels: ['pipeline'],
  },
  consumer_lag: {
    kind: 'gauge',
    help: 'Source records between the position of intake and the end of the log, over the owned shards; those of open transactions count, work in flight does not. Some 10 seconds old where intake is paused.',
    labels: ['pipeline'],
  },
  oldest_unsettled_timestamp_seconds: {
    kind: 'gauge',
    help: 'Timestamp of the oldest source record in flight, wherever it waits, seconds since the epoch; absent when there is none.',
    labels: ['pipeline'],
  },
  internal_errors_total: {
    kind: 'counter',
    help: 'Exceptions in the connector that no rule foresees: mistakes of its own. Each costs one record (dead letter with reason internal_error), one result row or one call. Any increase is an alert.',
    labels: ['pipeline', 'stage'],
    startsWith: { stage: ['decode', 'create', 'rewind', 'settle', 'upload', 'status', 'results'] },
  },
  unread_records_lost_total: {
    kind: 'counter',
    help: 'Source records that retention removed before they were read. Any increase is an alert.',
    labels: ['pipeline'],
  },
  reset_skipped_records_total: {
    kind: 'counter',
    help: "Source records passed over because somebody set the group's offset forward.",
    labels: ['pipeline'],
  },

  // ── Batches ──────────────────────────────────────────────────────────────────────────────────────────────────────
  batches: { kind: 'gauge', help: 'Live batches, by state.', labels: ['pipeline', 'state'] },
  oldest_batch_timestamp_seconds: {
    kind: 'gauge',
    help: 'When the oldest live batch of a state was created, seconds since the epoch; absent when there is none.',
    labels: ['pipeline', 'state'],
  },
  batches_created_total: {
    kind: 'counter',
    help: 'Batches created at the service.',
    labels: ['pipeline'],
  },
  batch_rows: {
    kind: 'histogram',
    help: 'Rows of a sealed batch.',
    labels: ['pipeline'],
    buckets: ROWS,
  },
  batch_bytes: {
    kind: 'histogram',
    help: 'Bytes of the body of a sealed batch.',
    labels: ['pipeline'],
    buckets: BODY_BYTES,
  },
  stage_duration_seconds: {
    kind: 'histogram',
    help: 'Time that a batch spent in a stage.',
    labels: ['pipeline', 'stage'],
    buckets: STAGE_SECONDS,
  },
  jobs_failed_total: {
    kind: 'counter',
    help: 'Attempts that ended without results (error, cancelled, expired, missing, timeout, …).',
    labels: ['pipeline', 'reason'],
  },
  orphaned_jobs_total: {
    kind: 'counter',
    help: 'Creations answered unclearly: the service may hold a batch that nobody knows the id of. Nothing is uploaded to it.',
    labels: [],
  },
  items_resubmitted_total: {
    kind: 'counter',
    help: 'Items submitted again in a new batch: submission is at-least-once, publication is not.',
    labels: ['pipeline'],
  },
  result_anomalies_total: {
    kind: 'counter',
    help: 'Result rows that did not fit: counted, never published.',
    labels: ['pipeline', 'kind'],
    startsWith: { kind: ['duplicate', 'unknown', 'malformed', 'missing', 'unreadable'] },
  },

  // ── Kafka ────────────────────────────────────────────────────────────────────────────────────────────────────────
  rebalances_total: {
    kind: 'counter',
    help: 'Generations of the consumer group joined.',
    labels: ['pipeline'],
  },
  claims_total: {
    kind: 'counter',
    help: 'Claims of a shard, by outcome.',
    labels: ['pipeline', 'outcome'],
  },
  shards_owned: {
    kind: 'gauge',
    help: 'Shards that this instance has claimed.',
    labels: ['pipeline'],
  },
  shards_paused: {
    kind: 'gauge',
    help: 'Shards, partitions and content types that wait, by reason (docs/operations.md).',
    labels: ['pipeline', 'reason'],
  },
  transactions_total: {
    kind: 'counter',
    help: 'Kafka transactions, by outcome.',
    labels: ['pipeline', 'outcome'],
  },
  transaction_duration_seconds: {
    kind: 'histogram',
    help: 'Duration of a Kafka transaction, from its first send to its commit.',
    labels: ['pipeline'],
    buckets: TRANSACTION_SECONDS,
  },

  // ── The Content Review Service ───────────────────────────────────────────────────────────────────────────────────
  http_requests_total: {
    kind: 'counter',
    help: 'Requests to the service and to its storage, by status; protocol: a successful answer that makes no sense.',
    labels: ['operation', 'code'],
  },
  http_retries_total: {
    kind: 'counter',
    help: 'Requests made again, by what made it necessary.',
    labels: ['operation', 'reason'],
  },
  http_request_duration_seconds: {
    kind: 'histogram',
    help: 'Duration of one request, body included, retries apart.',
    labels: ['operation'],
    buckets: REQUEST_SECONDS,
  },
  http_concurrency_limit: {
    kind: 'gauge',
    help: 'Requests that may be under way at once: halved by 429, 503 and timeouts, then growing back to what is configured.',
    labels: ['target'],
  },

  // ── The schema registry ──────────────────────────────────────────────────────────────────────────────────────────
  schema_registry_requests_total: {
    kind: 'counter',
    help: 'Requests to the schema registry, by HTTP status or by why there was none.',
    labels: ['operation', 'code'],
  },
  schema_registry_request_duration_seconds: {
    kind: 'histogram',
    help: 'Duration of one request to the schema registry.',
    labels: ['operation'],
    buckets: REQUEST_SECONDS,
  },

  // ── The process ──────────────────────────────────────────────────────────────────────────────────────────────────
  memory_budget_bytes: {
    kind: 'gauge',
    help: 'Budget over buffers, sealed bodies and result chunks.',
    labels: [],
  },
  memory_used_bytes: { kind: 'gauge', help: 'What of the budget is taken.', labels: [] },
  kafka_tls_certificate_expiry_timestamp_seconds: {
    kind: 'gauge',
    help: 'When the first certificate of the connections to Kafka expires, seconds since the epoch: alert two weeks before.',
    labels: ['certificate'],
  },
  log_lines_dropped_total: {
    kind: 'counter',
    help: 'Log lines thrown away because nobody read standard output fast enough.',
    labels: [],
  },
  trace_spans_total: {
    kind: 'counter',
    help: 'Spans of traces: exported, or failed because the collector did not take them. Only while traces are sent.',
    labels: ['outcome'],
  },
  loops: {
    kind: 'gauge',
    help: 'Loops of the engine by state; stuck ones are named by /livez.',
    labels: ['state'],
  },
  ready: {
    kind: 'gauge',
    help: '1 when a readiness condition holds, 0 when not; /readyz says why.',
    labels: ['condition'],
  },
  build_info: {
    kind: 'gauge',
    help: 'Always 1; the labels say what runs.',
    labels: ['version', 'node'],
  },
} as const satisfies Record<string, MetricDefinition>;

export type MetricName = keyof typeof METRICS;
