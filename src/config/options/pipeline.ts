/** `pipelines[]`: from a source topic to an output topic. */
import { group } from '../option.ts';
import {
  bytes,
  choice,
  duration,
  flag,
  integer,
  mapOf,
  optional,
  several,
  share,
  someOf,
  text,
} from '../values.ts';
import { lanesOption } from './lanes.ts';
import { fieldOr } from './mapping.ts';
import { derived, topic } from './names.ts';
import { sourceOptions } from './source.ts';

const output = group('Decisions.', {
  topic: derived(topic('Topic of the decisions; it must exist.'), '<source.topic>.decisions'),
  format: choice(
    'Format of the values. json-schema, avro and protobuf begin with a schema id, and require schemaRegistry and a registered schema (schemas register).',
    ['json', 'json-schema', 'avro', 'protobuf'],
  ),
  subject: derived(
    text({
      help: 'Subject of the schema in the registry.',
      allowed: 'a text without control characters',
      pattern: /^(?=.*\S)\P{Cc}+$/u,
    }),
    '<output.topic>-value',
  ),
  includeContent: flag('Whether a decision repeats the content.', false),
  key: fieldOr(
    'source',
    'Key of a decision: that of its event, or the text or number that an expression finds in it (null: none).',
  ),
  headers: several(
    text({
      help: 'Headers of the source record to copy to its decision, such as traceparent. With kind: review they are in the upload too.',
      allowed: 'a text',
    }),
    'header names',
    [],
  ),
});

const review = group('Following a batch at the service, and handling its failures.', {
  poll: duration(
    'Longest wait between two status requests for a batch; the first wait is half a second.',
    '15s',
    '10ms',
    '1h',
  ),
  maxReviewTime: duration('Maximum duration of a review.', '24h', '1s', '365d'),
  onTimeout: choice(
    'After maxReviewTime: keep waiting (logged and counted once), or end with code review_timeout by onFailure.',
    ['wait', 'error'],
  ),
  onRejectedType: choice(
    'For a content type that the service rejects (400, 422 on create): park its records, or make them dead letters.',
    ['pause', 'dead-letter'],
  ),
  pause: duration(
    'Pause of a content type that is rejected or has five failed batches in a row, and of calls after a rejected API key; then one batch probes.',
    '30s',
    '100ms',
    '1d',
  ),
  grace: duration(
    'Time for which the service may not notice an upload, or not know a batch or decision (404, 410), before a new batch replaces it, or the lookup ends.',
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
      help: 'Header of the result column in result files. Default: the one that ends in " result".',
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
        help: 'Metadata keys with a column in the uploaded files, for policies. Decisions have all metadata.',
        allowed: 'a text',
      }),
      'metadata keys',
      [],
    ),
    'all',
  ),
});

const batchLimits = {
  maxRows: integer(
    'Maximum number of rows; at most 100 in the first batch after a start.',
    5_000,
    1,
    100_000,
  ),
  maxBytes: bytes('Maximum size of content and metadata in memory.', '8MiB', '1KiB', '512MiB'),
  maxAge: duration('Maximum age of the oldest item.', '30s', '10ms', '1d'),
};

const kafka = group('Tuning of the Kafka client of this pipeline.', {
  sessionTimeout: duration(
    'Silence after which the group reassigns the shards of this instance.',
    '30s',
    '1s',
    '30m',
  ),
  transactionTimeout: duration(
    'Age at which the broker aborts an open transaction; at most its transaction.max.timeout.ms.',
    '60s',
    '1s',
    '15m',
  ),
  fetchMaxBytes: bytes(
    'Maximum size of a fetch; an eighth of it per partition. A larger record is fetched alone.',
    '2MiB',
    '64KiB',
    '512MiB',
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
    ...batchLimits,
    types: mapOf(
      someOf(
        'Limits of batches of these content types, in place of the general ones.',
        batchLimits,
      ),
      'limits by content type, such as {chat: {maxAge: 2s}}',
    ),
  }),
  lanes: lanesOption,
  quota: {
    ...someOf(
      'Rows that the pipeline may submit, over all replicas, each shard its part: rowsPerMinute (any 60 s), rowsPerDay (in UTC), rowsUnderReview. Used up, intake pauses with the reason quota.',
      {
        rowsPerMinute: integer('', undefined, 1, 1_000_000_000),
        rowsPerDay: integer('', undefined, 1, 1_000_000_000_000),
        rowsUnderReview: integer('', undefined, 1, 1_000_000_000),
      },
    ),
    fallback: {},
  },
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
  output,
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
