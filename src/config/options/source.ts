import { group } from '../option.ts';
import { bytes, choice, integer, percentage, several, text } from '../values.ts';
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
  startFrom: choice('Start position of a group without committed offsets.', ['earliest', 'latest']),
  types: several(
    text({
      help: 'Content types to submit; records of others become dead letters. An empty list allows every type.',
      allowed: 'a string',
    }),
    'strings',
    [],
  ),
  nullValues: choice('Records without a value become dead letters, or are skipped and counted.', [
    'dead-letter',
    'skip',
  ]),
  format: choice(
    'Format of the values. text: the value is the content. cloudevents: binary or structured. avro, json-schema and protobuf require schemaRegistry.',
    EVENT_FORMATS,
  ),
  mapping: mappingOptions,
  filter: filterOption,
  sample: percentage(
    'Share of the keys whose records are processed, chosen by a hash of the key (mapping.md). Other records are skipped and counted.',
    '100 %',
  ),
  maxContent: bytes(
    'Maximum size of the content, or of a line of an import. Larger ones become dead letters.',
    '4MiB',
    '1B',
    '1GiB',
  ),
  maxInFlight: integer(
    'Number of records in flight per partition above which intake pauses (sizing.md).',
    200_000,
    1_000,
    2_000_000,
  ),
});
