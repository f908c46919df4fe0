/** `pipelines[]`: from a source topic to an output topic. */
import { DEFAULT_SERVICE } from '../../core/service-names.ts';
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
import { derived, NAME, topic } from './names.ts';
import { sourceOptions } from './source.ts';

const output = group('Decisions.', {
  topic: derived(topic('Topic of the decisions; it must exist.'), '<source.topic>.decisions'),
  format: choice(
    'Format of the values. With json-schema, avro and protobuf, each value begins with a schema id; these formats require schemaRegistry and a schema registered by `schemas register`.',
    ['json', 'json-schema', 'avro', 'protobuf'],
  ),
  subject: derived(
    text({
      help: 'Subject of the schema in the registry.',
      allowed: 'a string without control characters',
      pattern: /^(?=.*\S)\P{Cc}+$/u,
    }),
    '<output.topic>-value',
  ),
  includeContent: flag('Whether a decision repeats the content.', false),
  key: fieldOr(
    'source',
    'Key of a decision. source: the key of its event. An expression must yield a string, a number, or null for no key.',
  ),
  headers: several(
    text({
      help: 'Headers of the source record to copy to its decision, such as traceparent. With kind: review, the upload contains them too.',
      allowed: 'a string',
    }),
    'header names',
    [],
  ),
});

const review = group('Polling of batches at the service, and handling of failures.', {
  poll: duration(
    'Maximum wait between two status requests for a batch. The first wait is half a second.',
    '15s',
    '10ms',
    '1h',
  ),
  maxReviewTime: duration('Maximum duration of a review.', '24h', '1s', '365d'),
  onTimeout: choice(
    'After maxReviewTime: keep waiting (logged and counted once), or end the records with code review_timeout as onFailure specifies.',
    ['wait', 'error'],
  ),
  onRejectedType: choice(
    'For a content type that the service rejects (400, 422 on create): pause it, or make its records dead letters.',
    ['pause', 'dead-letter'],
  ),
  pause: duration(
    'Pause of a content type after a rejection or five consecutive failed batches, and of calls after a rejected API key. After the pause, one batch is tried.',
    '30s',
    '100ms',
    '1d',
  ),
  grace: duration(
    'Maximum time for which the service may fail to see an upload, or report a batch or decision as unknown (404, 410). After that, the records are submitted in a new batch, or the lookup ends.',
    '10m',
    '1s',
    '1d',
  ),
  attempts: integer(
    'Number of attempts before the batch of an item is halved, or the item ends as onFailure specifies.',
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
          ? 'a column of this name has another meaning'
          : undefined,
    }),
  ),
  columns: optional(
    several(
      text({
        help: 'Metadata keys that become columns of the uploaded files, so that policies can use them. Decisions return all metadata.',
        allowed: 'a string',
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
    'Time without heartbeats after which the group reassigns the shards of this instance.',
    '30s',
    '1s',
    '30m',
  ),
  transactionTimeout: duration(
    "Age at which the broker aborts an open transaction; at most the broker's transaction.max.timeout.ms.",
    '60s',
    '1s',
    '15m',
  ),
  fetchMaxBytes: bytes(
    'Maximum size of a fetch. Each partition may fill an eighth of it. A larger record is fetched alone.',
    '2MiB',
    '64KiB',
    '512MiB',
  ),
});

export const pipelineOptions = group('Processing from a source topic to an output topic.', {
  name: text({
    help: 'Name in metrics and logs; changing it changes the default group and journal.',
    ...NAME,
  }),
  kind: choice(
    'review: submits content in batches, publishes decisions. import: submits JSON Lines files, publishes receipts. lookup: retrieves decisions by id, publishes them.',
    ['review', 'import', 'lookup'],
  ),
  service: text({
    help: 'Name of an entry of `services`, or `default` for `service`.',
    fallback: DEFAULT_SERVICE,
    ...NAME,
  }),
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
      'Limits of the pipeline over all replicas, divided equally among its shards: rows submitted in any 60 s, rows submitted in a day (UTC), rows under review, and calls to the service per second. Above a limit, batches and calls wait with the reason quota.',
      {
        rowsPerMinute: integer('', undefined, 1, 1_000_000_000),
        rowsPerDay: integer('', undefined, 1, 1_000_000_000_000),
        rowsUnderReview: integer('', undefined, 1, 1_000_000_000),
        callsPerSecond: integer('', undefined, 1, 1_000_000),
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
        'Number of shards, fixed for the life of the journal. auto: one per source partition, at most 64.',
        undefined,
        1,
        1_000,
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
  objective: group('Service level objective for metrics, alerts and dashboard.', {
    age: duration('Age of an event by which its decision is due.', '1h', '1s', '365d'),
    share: share('Share of decisions that must be on time.', 0.99, 0.5, 0.9999),
  }),
  kafka,
});
