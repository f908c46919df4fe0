/** `pipelines[]`: from a source topic to an output topic. */
import { group } from '../option.ts';
import { bytes, choice, duration, flag, integer, optional, share, text } from '../values.ts';
import { derived, topic } from './names.ts';
import { outputOptions } from './output.ts';
import { sourceOptions } from './source.ts';

const review = group('Following a batch at the service, and handling its failures.', {
  poll: group(
    'Waits between two status requests for a batch, growing from the first to the last.',
    {
      initial: duration({ help: 'First wait.', fallback: '500ms', min: '10ms', max: '1h' }),
      max: duration({ help: 'Longest wait.', fallback: '15s', min: '10ms', max: '1h' }),
    },
  ),
  maxReviewTime: duration({
    help: 'Maximum duration of a review.',
    fallback: '24h',
    min: '1s',
    max: '365d',
  }),
  onTimeout: choice({
    help: 'After maxReviewTime: keep waiting (and alert), or end with code review_timeout by onFailure.',
    of: ['wait', 'error'],
    fallback: 'wait',
  }),
  onRejectedType: choice({
    help: 'For a content type that the service rejects (400, 422 on create): park its records, or make them dead letters.',
    of: ['pause', 'dead-letter'],
    fallback: 'pause',
  }),
  typePause: duration({
    help: 'Pause of a content type that is rejected, or after five failed batches in a row; then one batch probes it.',
    fallback: '1m',
    min: '100ms',
    max: '1d',
  }),
  authPause: duration({
    help: 'Pause after a rejected API key (401, 403); then the current key is tried.',
    fallback: '15s',
    min: '100ms',
    max: '1h',
  }),
  uploadGrace: duration({
    help: 'Time for the service to notice an upload, before a new batch replaces it.',
    fallback: '5m',
    min: '1s',
    max: '1d',
  }),
  missingGrace: duration({
    help: 'Time for which a batch may be unknown (404, 410) before a new one replaces it.',
    fallback: '10m',
    min: '1s',
    max: '1d',
  }),
  attempts: integer({
    help: 'Attempts at an item before its batch is halved, or the item ends by onFailure.',
    fallback: 3,
    min: 1,
    max: 20,
  }),
  onFailure: choice({
    help: 'A record that failed permanently becomes a decision with status ERROR, or a dead letter.',
    of: ['error', 'dead-letter'],
    fallback: 'error',
  }),
  maxRetryBatches: integer({
    help: 'Maximum number of batches for one failing batch, halves included; the rest then ends by onFailure.',
    fallback: 64,
    min: 1,
    max: 10_000,
  }),
  downloadRetries: integer({
    help: 'Further downloads of an unreadable or short result file, before its rows count as missing.',
    fallback: 3,
    min: 0,
    max: 100,
  }),
  resultColumn: optional(
    text({
      help: 'Header of the result column in result files. Default: the one that ends in " result" and is not Expected result.',
      allowed: 'the name of a column',
      check: (name) =>
        /^(content|status|labels|expected result)$|\p{Cc}/iu.test(name.trim())
          ? 'that column has another meaning'
          : undefined,
    }),
  ),
  errorRowAttempts: integer({
    help: 'Attempts at an item whose result row has status ERROR, before the row is published.',
    fallback: 1,
    min: 1,
    max: 20,
  }),
});

const kafka = group('Tuning of the Kafka client of this pipeline; the defaults fit most cases.', {
  sessionTimeout: duration({
    help: 'Silence after which the group reassigns the shards of this instance.',
    fallback: '30s',
    min: '1s',
    max: '30m',
  }),
  heartbeat: duration({
    help: 'Interval between heartbeats; at most a third of sessionTimeout.',
    fallback: '3s',
    min: '100ms',
    max: '10m',
  }),
  transactionTimeout: duration({
    help: 'Age at which the broker aborts an open transaction; at most its transaction.max.timeout.ms.',
    fallback: '60s',
    min: '1s',
    max: '15m',
  }),
  metadataMaxAge: duration({
    help: 'Interval at which new partitions are looked up.',
    fallback: '30s',
    min: '1s',
    max: '1h',
  }),
  maxWait: duration({
    help: 'Longest wait of a fetch for records.',
    fallback: '100ms',
    min: '1ms',
    max: '30s',
  }),
  fetchMaxBytes: bytes({
    help: 'Maximum size of a fetch; an eighth of it per partition. A larger record is fetched alone.',
    fallback: '2MiB',
    min: '64KiB',
    max: '512MiB',
  }),
  progressInterval: duration({
    help: 'Interval at which a position that advances without a batch is committed.',
    fallback: '10s',
    min: '100ms',
    max: '1h',
  }),
  ownershipCheckInterval: duration({
    help: 'Interval at which an idle shard verifies its ownership.',
    fallback: '60s',
    min: '1s',
    max: '1h',
  }),
});

export const pipelineOptions = group('Processing from a source topic to an output topic.', {
  name: text({
    help: 'Name in metrics and logs; changing it changes the default group and journal.',
    allowed: '1 to 63 of a-z 0-9 -, beginning with a letter or digit',
    pattern: /^[a-z0-9][a-z0-9-]{0,62}$/,
  }),
  kind: choice({
    help: 'review: content in batches, and decisions. import: JSON Lines files, and receipts. lookup: ids, and their decisions.',
    of: ['review', 'import', 'lookup'],
    fallback: 'review',
  }),
  source: sourceOptions,
  batch: group('Limits of a batch; the first one reached seals it.', {
    maxRows: integer({
      help: 'Maximum number of rows.',
      fallback: 5_000,
      min: 1,
      max: 100_000,
    }),
    maxBytes: bytes({
      help: 'Maximum size of content and metadata in memory.',
      fallback: '8MiB',
      min: '1KiB',
      max: '1GiB',
    }),
    maxAge: duration({
      help: 'Maximum age of the oldest item.',
      fallback: '30s',
      min: '10ms',
      max: '1d',
    }),
    escapeFormulas: flag({
      help: 'Puts an apostrophe before cells that a spreadsheet would run as a formula; decisions keep the original (service-security.md).',
      fallback: false,
    }),
    referenceColumn: text({
      help: 'Column that identifies the record of a row; the results return it.',
      allowed:
        'a column name other than those of the result file (Content, Status, Labels, Expected result, … result)',
      fallback: 'connector_ref',
      check: (name) =>
        /^(content|status|labels)$|(^|\s)result$|\p{Cc}/iu.test(name.trim())
          ? 'the service uses that name'
          : undefined,
    }),
  }),
  journal: group('The compacted topic with the state of the pipeline.', {
    topic: derived(
      topic('Topic of the journal: created if missing, checked otherwise.'),
      '<source.group>.journal',
    ),
    partitions: optional(
      integer({
        help: 'Number of shards, fixed for the life of the journal. auto: the partitions of the source, at most 64.',
        min: 1,
        max: 1_000,
      }),
      'auto',
    ),
    replicationFactor: optional(
      integer({
        help: 'Replicas of each partition at creation. auto: 3, or the number of brokers if fewer.',
        min: 1,
        max: 15,
      }),
      'auto',
    ),
  }),
  output: outputOptions,
  deadLetters: group('Records that cannot be processed, with the reason in headers.', {
    topic: derived(
      topic('Topic of the dead letters; it must exist.'),
      '<source.topic>.dead-letters',
    ),
  }),
  review,
  objective: group('Service level: metrics, alerts, dashboard and console compare with it.', {
    age: duration({
      help: 'Age of an event by which its decision is due.',
      fallback: '1h',
      min: '1s',
      max: '365d',
    }),
    share: share({
      help: 'Share of decisions that must be in time.',
      fallback: 0.99,
      min: 0.5,
      max: 0.9999,
    }),
    deadLetterShare: share({
      help: 'Share of events above which dead letters need attention.',
      fallback: 0.05,
      min: 0,
      max: 1,
    }),
  }),
  kafka,
});
