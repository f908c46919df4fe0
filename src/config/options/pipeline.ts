import { derive, group } from '../option.ts';
import {
  bytes,
  choice,
  duration,
  flag,
  integer,
  integerOrAuto,
  optionalText,
  text,
} from '../values.ts';
import { derivedTopic } from './names.ts';
import { eventSourceOf, outputOptions } from './output.ts';
import { sourceOptions } from './source.ts';

const PIPELINE_KINDS = ['review', 'import', 'lookup'] as const;
export type PipelineKindName = (typeof PIPELINE_KINDS)[number];

/** `pipelines[]`. */
export function pipelineOptions() {
  const options = group('One way from a source topic to an output topic.', {
    name: text({
      help: 'Name in metrics, logs and derived names. Changing it changes the default group and journal.',
      allowed: '1 to 63 of a-z 0-9 -, beginning with a letter or digit',
      check: (name) => (/^[a-z0-9][a-z0-9-]{0,62}$/.test(name) ? undefined : ''),
    }),
    kind: choice({
      help: 'What is done: review submits content in batches and publishes decisions; import submits records in JSON Lines files and publishes receipts; lookup takes ids of decisions and publishes the decisions. Options of another kind must not be set.',
      of: PIPELINE_KINDS,
      fallback: 'review',
    }),
    source: sourceOptions(),
    batch: group('When a buffer becomes a batch: the first limit that is reached decides.', {
      maxRows: integer({ help: 'Rows of a batch.', fallback: 5_000, min: 1, max: 100_000 }),
      maxBytes: bytes({
        help: 'Bytes of content and metadata of a batch, as memory holds them: small nested objects take more than their text.',
        fallback: '8MiB',
        min: '1KiB',
        max: '1GiB',
      }),
      maxAge: duration({
        help: 'Age of the oldest item in it; counted also when no record comes, and whatever becomes of the wall clock.',
        fallback: '30s',
        min: '10ms',
        max: '1d',
      }),
      escapeFormulas: flag({
        help: 'Puts an apostrophe before content, metadata and expected results that begin with =, +, -, @, a tab or a line break, so that a spreadsheet takes them for texts. Off, because what is reviewed is then not what was posted; decisions have everything as it was (service-security.md).',
        fallback: false,
      }),
      referenceColumn: text({
        help: 'Name of the column that says which record a row is; it comes back with the results.',
        allowed:
          'a column name that is none of the result file (Content, Status, Labels, Expected result, … result)',
        fallback: 'connector_ref',
        check: (name) =>
          /^(content|status|labels)$|(^|\s)result$|\p{Cc}/iu.test(name.trim())
            ? 'the service uses that name'
            : undefined,
      }),
    }),
    journal: group('The compacted topic that holds everything the connector must remember.', {
      topic: derivedTopic('Created when missing, checked when not.', '<group>.journal'),
      partitions: integerOrAuto({
        help: 'Shards, fixed for the life of the journal. auto: the partitions of the source, at most 64.',
        min: 1,
        max: 1_000,
      }),
      replicationFactor: integerOrAuto({
        help: 'Copies of each partition, when it is created. auto: 3, or the number of brokers if fewer.',
        min: 1,
        max: 15,
      }),
    }),
    output: outputOptions(),
    deadLetters: group('Records that cannot be reviewed, with the reason in headers.', {
      topic: derivedTopic('Must exist.', '<source.topic>.dead-letters'),
    }),
    review: reviewOptions(),
    kafka: kafkaTuning(),
  });
  return derive(options, (pipeline) => {
    const { source, journal, output, deadLetters } = pipeline;
    const names = derivedNames({
      name: pipeline.name,
      source: source.topic,
      group: source.group,
      journal: journal.topic,
      output: output.topic,
      deadLetters: deadLetters.topic,
    });
    return {
      ...pipeline,
      source: { ...source, group: names.group },
      journal: { ...journal, topic: names.journal },
      output: {
        ...output,
        topic: names.output,
        cloudEvents: withSource(output.cloudEvents, pipeline.name),
      },
      deadLetters: { ...deadLetters, topic: names.deadLetters },
    };
  });
}

const withSource = <T extends { readonly source: string }>(cloudEvents: T, name: string): T => ({
  ...cloudEvents,
  source: cloudEvents.source || eventSourceOf(name),
});

export interface Names {
  readonly name: string;
  readonly source: string;
  readonly group: string;
  readonly journal: string;
  readonly output: string;
  readonly deadLetters: string;
}

/** Fills in the names that were left empty. The journal follows the group: it belongs to it, and a new group needs a new one. */
export function derivedNames(given: Names): Names {
  const group = given.group || `content-review-${given.name}`;
  return {
    ...given,
    group,
    journal: given.journal || `${group}.journal`,
    output: given.output || `${given.source}.decisions`,
    deadLetters: given.deadLetters || `${given.source}.dead-letters`,
  };
}

function reviewOptions() {
  return group('Following a batch at the service, and what to do when it goes wrong.', {
    poll: group('Waits between two looks at a batch, growing from the first to the last.', {
      initial: duration({ help: 'First wait.', fallback: '500ms', min: '10ms', max: '1h' }),
      max: duration({ help: 'Longest wait.', fallback: '15s', min: '10ms', max: '1h' }),
    }),
    maxReviewTime: duration({
      help: 'How long a review may be pending. The age of a batch is taken from the wall clock once, when its shard is claimed or it is created: later corrections of the clock end nothing.',
      fallback: '24h',
      min: '1s',
      max: '365d',
    }),
    onTimeout: choice({
      help: 'After that: keep waiting (and alert), or end it: decisions with status ERROR and code review_timeout, or dead letters (onFailure).',
      of: ['wait', 'error'],
      fallback: 'wait',
    }),
    onRejectedType: choice({
      help: 'A content type that the service refuses (400, 422 on create): hold its records back and alert, or make them dead letters.',
      of: ['pause', 'dead-letter'],
      fallback: 'pause',
    }),
    typePause: duration({
      help: 'Pause of a content type that the service refuses, or of which five batches in a row failed; then one batch is tried.',
      fallback: '1m',
      min: '100ms',
      max: '1d',
    }),
    authPause: duration({
      help: 'Pause after the service refused the API key (401, 403), before it is asked again with the key as it is then.',
      fallback: '15s',
      min: '100ms',
      max: '1h',
    }),
    uploadGrace: duration({
      help: 'How long the service may take to see an upload before the batch is given up for a new one.',
      fallback: '5m',
      min: '1s',
      max: '1d',
    }),
    missingGrace: duration({
      help: 'How long the service may not know a batch (404, 410) before it is given up for a new one.',
      fallback: '10m',
      min: '1s',
      max: '1d',
    }),
    attempts: integer({
      help: 'Attempts at an item before its batch is bisected, or it gets a decision with status ERROR or a dead letter (onFailure).',
      fallback: 3,
      min: 1,
      max: 20,
    }),
    onFailure: choice({
      help: 'A record that nothing more is tried for: a decision with status ERROR, or a dead letter with the original and reason review_failed.',
      of: ['error', 'dead-letter'],
      fallback: 'error',
    }),
    maxRetryBatches: integer({
      help: 'Batches that one failing batch may cost in all, its halves included; what is left then gets decisions with status ERROR, or dead letters (onFailure).',
      fallback: 64,
      min: 1,
      max: 10_000,
    }),
    downloadRetries: integer({
      help: 'How often a result file that is cut, unreadable or short is downloaded again before its rows count as missing.',
      fallback: 3,
      min: 0,
      max: 100,
    }),
    resultColumn: optionalText({
      help: 'Header of the column with the result in result files. Without it: the one that ends in " result" and is not Expected result.',
      allowed: 'the name of a column',
      check: (name) =>
        /^(content|status|labels|expected result)$|\p{Cc}/iu.test(name.trim())
          ? 'that column holds something else'
          : undefined,
    }),
    errorRowAttempts: integer({
      help: 'Attempts at an item whose result row has status ERROR, before the row is published. 1 publishes it at once.',
      fallback: 1,
      min: 1,
      max: 20,
    }),
  });
}

function kafkaTuning() {
  return group("Kafka's side of this pipeline. The defaults fit; change them for a reason.", {
    sessionTimeout: duration({
      help: 'Silence after which the group gives the shards of this instance to others.',
      fallback: '30s',
      min: '1s',
      max: '30m',
    }),
    heartbeat: duration({
      help: 'Time between two signs of life; at most a third of sessionTimeout.',
      fallback: '3s',
      min: '100ms',
      max: '10m',
    }),
    transactionTimeout: duration({
      help: 'After this the broker aborts a transaction; readers wait for an open one. At most the transaction.max.timeout.ms of the brokers.',
      fallback: '60s',
      min: '1s',
      max: '15m',
    }),
    metadataMaxAge: duration({
      help: 'How often the cluster is asked for new partitions.',
      fallback: '30s',
      min: '1s',
      max: '1h',
    }),
    maxWait: duration({
      help: 'How long a fetch waits for records.',
      fallback: '100ms',
      min: '1ms',
      max: '30s',
    }),
    fetchMaxBytes: bytes({
      help: 'Most bytes of one fetch; of one partition, an eighth of it. A larger record comes alone.',
      fallback: '2MiB',
      min: '64KiB',
      max: '512MiB',
    }),
    progressInterval: duration({
      help: 'How often a position that moves without a batch is committed.',
      fallback: '10s',
      min: '100ms',
      max: '1h',
    }),
    ownershipCheckInterval: duration({
      help: 'How often an idle shard proves that it is still ours.',
      fallback: '60s',
      min: '1s',
      max: '1h',
    }),
  });
}
