import { group } from '../option.ts';
import { bytes, choice, integer, several, text } from '../values.ts';
import { filterOption, mappingOptions } from './mapping.ts';
import { derived, topic } from './names.ts';

const EVENT_FORMATS = ['json', 'text', 'cloudevents', 'avro', 'json-schema', 'protobuf'] as const;
export type EventFormatName = (typeof EVENT_FORMATS)[number];

export const sourceOptions = group('Records to read, and how to interpret them.', {
  topic: topic('Topic of the events.'),
  group: derived(
    topic('Consumer group of all replicas, never shared by two pipelines.'),
    'content-review-<name>',
  ),
  startFrom: choice({
    help: 'Start position of a group without committed offsets.',
    of: ['earliest', 'latest'],
    fallback: 'earliest',
  }),
  types: several(
    text({
      help: 'Content types to submit; others become dead letters. An empty list allows every type.',
      allowed: 'a text',
    }),
    'texts',
    [],
  ),
  maxTypes: integer({
    help: 'Maximum number of content types in use (with a new batch in the last hour) per process; records of further types become dead letters. Without effect where types or mapping.type.map list them.',
    fallback: 100,
    min: 1,
    max: 100_000,
  }),
  nullValues: choice({
    help: 'Records without a value become dead letters, or are skipped and counted.',
    of: ['dead-letter', 'skip'],
    fallback: 'dead-letter',
  }),
  format: choice({
    help: 'Format of the values. text: the value is the content. cloudevents: binary or structured. avro, json-schema and protobuf require schemaRegistry.',
    of: EVENT_FORMATS,
    fallback: 'json',
  }),
  mapping: mappingOptions,
  filter: filterOption,
  maxContent: bytes({
    help: 'Largest content, or largest line of an import; a larger one becomes a dead letter.',
    fallback: '4MiB',
    min: '1B',
    max: '1GiB',
  }),
  maxMetadata: bytes({
    help: 'Largest metadata of an event, as JSON; larger ones make a dead letter.',
    fallback: '1MiB',
    min: '1B',
    max: '1GiB',
  }),
  maxMetadataKeys: integer({
    help: 'Maximum number of keys in the metadata; more make a dead letter.',
    fallback: 1_000,
    min: 1,
    max: 100_000,
  }),
  maxHeaders: integer({
    help: 'Maximum number of headers; more make a dead letter without the original.',
    fallback: 1_000,
    min: 1,
    max: 100_000,
  }),
  maxBatchUnpacked: bytes({
    help: 'Largest decompressed record batch; records beyond it become dead letters without the original.',
    fallback: '1GiB',
    min: '1MiB',
    max: '64GiB',
  }),
  maxInFlight: integer({
    help: 'Records in flight per partition (in live batches, or between the first record without a batch and the newest one read) above which intake pauses.',
    fallback: 200_000,
    min: 1_000,
    max: 2_000_000,
  }),
});
