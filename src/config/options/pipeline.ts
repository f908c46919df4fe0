/** `pipelines[]`: from a source topic to an output topic. */
import { group } from '../option.ts';
import { bytes, choice, duration, integer, optional, several, share, text } from '../values.ts';
import { derived, topic } from './names.ts';
import { outputOptions } from './output.ts';
import { sourceOptions } from './source.ts';

const review = group('Following a batch at the service, and handling its failures.', {
  poll: group(
    'Waits between two status requests for a batch, growing from the first to the last.',
    {
      initial: duration('First wait.', '500ms', '10ms', '1h'),
      max: duration('Longest wait.', '15s', '10ms', '1h'),
    },
  ),
  maxReviewTime: duration('Maximum duration of a review.', '24h', '1s', '365d'),
  onTimeout: choice(
    'After maxReviewTime: keep waiting (and alert), or end with code review_timeout by onFailure.',
    ['wait', 'error'],
  ),
  onRejectedType: choice(
    'For a content type that the service rejects (400, 422 on create): park its records, or make them dead letters.',
    ['pause', 'dead-letter'],
  ),
  pause: duration(
    'Pause of a content type that is rejected or has five failed batches in a row, and of calls after a rejected API key (401, 403); then one batch probes.',
    '30s',
    '100ms',
    '1d',
  ),
  uploadGrace: duration(
    'Time for the service to notice an upload, before a new batch replaces it. After a takeover it is at most 20 s for a batch whose upload the journal does not confirm.',
    '5m',
    '1s',
    '1d',
  ),
  missingGrace: duration(
    'Time for which a batch may be unknown (404, 410) before a new one replaces it.',
    '10m',
    '1s',
    '1d',
  ),
  attempts: integer(
    'Attempts at an item before its batch is halved, or the item ends by onFailure.',
    3,
    1,
    20,
  ),
  onFailure: choice(
    'A record that failed permanently becomes a decision with status ERROR, or a dead letter.',
    ['error', 'dead-letter'],
  ),
  resultColumn: optional(
    text({
      help: 'Header of the result column in result files. Default: the one that ends in " result" and is not Expected result.',
      allowed: 'the name of a column',
      check: (name) =>
        /^(content|status|labels|expected result|connector_ref)$|\p{Cc}/iu.test(name.trim())
          ? 'that column has another meaning'
          : undefined,
    }),
  ),
  columns: optional(
    several(
      text({
        help: 'Metadata keys with a column in the uploaded files, for policies; an empty list: none. Decisions have all metadata.',
        allowed: 'a text',
      }),
      'metadata keys',
      [],
    ),
    'all',
  ),
});

const kafka = group('Tuning of the Kafka client of this pipeline; the defaults fit most cases.', {
  sessionTimeout: duration(
    'Silence after which the group reassigns the shards of this instance.',
    '30s',
    '1s',
    '30m',
  ),
  heartbeat: duration(
    'Interval between heartbeats; at most a third of sessionTimeout.',
    '3s',
    '100ms',
    '10m',
  ),
  transactionTimeout: duration(
    'Age at which the broker aborts an open transaction; at most its transaction.max.timeout.ms.',
    '60s',
    '1s',
    '15m',
  ),
  metadataMaxAge: duration('Interval at which new partitions are looked up.', '30s', '1s', '1h'),
  maxWait: duration('Longest wait of a fetch for records.', '100ms', '1ms', '30s'),
  fetchMaxBytes: bytes(
    'Maximum size of a fetch; an eighth of it per partition. A larger record is fetched alone.',
    '2MiB',
    '64KiB',
    '512MiB',
  ),
  progressInterval: duration(
    'Interval at which a position that advances without a batch is committed.',
    '10s',
    '100ms',
    '1h',
  ),
  ownershipCheckInterval: duration(
    'Interval at which an idle shard verifies its ownership.',
    '60s',
    '1s',
    '1h',
  ),
});

export const pipelineOptions = group('Processing from a source topic to an output topic.', {
  name: text({
    help: 'Name in metrics and logs; changing it changes the default group and journal.',
    allowed: '1 to 63 of a-z 0-9 -, beginning with a letter or digit',
    pattern: /^[a-z0-9][a-z0-9-]{0,62}$/,
  }),
  kind: choice(
    'review: content in batches, and decisions. import: JSON Lines files, and receipts. lookup: ids, and their decisions.',
    ['review', 'import', 'lookup'],
  ),
  source: sourceOptions,
  batch: group('Limits of a batch; the first one reached seals it.', {
    maxRows: integer(
      'Maximum number of rows; at most 100 in the first batch after a start.',
      5_000,
      1,
      100_000,
    ),
    maxBytes: bytes('Maximum size of content and metadata in memory.', '8MiB', '1KiB', '1GiB'),
    maxAge: duration('Maximum age of the oldest item.', '30s', '10ms', '1d'),
  }),
  journal: group('The compacted topic with the state of the pipeline.', {
    topic: derived(
      topic('Topic of the journal: created if missing, checked otherwise.'),
      '<source.group>.journal',
    ),
    partitions: optional(
      integer(
        'Number of shards, fixed for the life of the journal. auto: the partitions of the source, at most 64.',
        undefined,
        1,
        1_000,
      ),
      'auto',
    ),
    replicationFactor: optional(
      integer(
        'Replicas of each partition at creation. auto: 3, or the number of brokers if fewer.',
        undefined,
        1,
        15,
      ),
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
  objective: group('Service level: metrics, alerts and dashboard compare with it.', {
    age: duration('Age of an event by which its decision is due.', '1h', '1s', '365d'),
    share: share('Share of decisions that must be in time.', 0.99, 0.5, 0.9999),
  }),
  kafka,
});
