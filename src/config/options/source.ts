import { group } from '../option.ts';
import { bytes, choice, integer, texts } from '../values.ts';
import { filterOption, mappingOptions } from './mapping.ts';
import { derivedTopic, topic } from './names.ts';

export const EVENT_FORMATS = [
  'json',
  'text',
  'cloudevents',
  'avro',
  'json-schema',
  'protobuf',
] as const;
export type EventFormatName = (typeof EVENT_FORMATS)[number];

/** `pipelines[].source`: what to read, and how to understand it. */
export function sourceOptions() {
  return group('What to read, and how to understand it.', {
    topic: topic('Topic of the content events.'),
    group: derivedTopic(
      'Consumer group; replicas of the connector share it, two pipelines never do.',
      'content-review-<name>',
    ),
    startFrom: choice({
      help: 'Where a group that has committed nothing begins.',
      of: ['earliest', 'latest'],
      fallback: 'earliest',
    }),
    types: texts({
      help: 'Content types to submit; an event of any other type becomes a dead letter. An empty list takes every type.',
      allowed: 'a list of texts, or one text with commas',
      fallback: [],
    }),
    nullValues: choice({
      help: 'What becomes of a record without a value: a dead letter, or skipped and counted, with no terminal record.',
      of: ['dead-letter', 'skip'],
      fallback: 'dead-letter',
    }),
    format: choice({
      help: 'How values are written. text: the value is the content. cloudevents: binary or structured. avro, json-schema and protobuf need schemaRegistry.',
      of: EVENT_FORMATS,
      fallback: 'json',
    }),
    mapping: mappingOptions(),
    filter: filterOption(),
    maxContent: bytes({
      help: 'Largest content, or largest line of an import; a larger one becomes a dead letter.',
      fallback: '4MiB',
      min: '1B',
      max: '1GiB',
    }),
    maxMetadata: bytes({
      help: 'Largest metadata of an event as JSON; with larger metadata it becomes a dead letter.',
      fallback: '1MiB',
      min: '1B',
      max: '1GiB',
    }),
    maxMetadataKeys: integer({
      help: 'Most keys that the metadata of an event may have; an event with more becomes a dead letter.',
      fallback: 1_000,
      min: 1,
      max: 100_000,
    }),
    maxHeaders: integer({
      help: 'Most headers that a record may have; one with more becomes a dead letter by its coordinates alone.',
      fallback: 1_000,
      min: 1,
      max: 100_000,
    }),
    maxBatchUnpacked: bytes({
      help: 'Most bytes that one record batch of the topic may unpack to; the records behind that become dead letters by their coordinates alone.',
      fallback: '1GiB',
      min: '1MiB',
      max: '64GiB',
    }),
    maxInFlight: integer({
      help: 'How much of a partition may be under way: its records in live batches, and the offsets from the first record that is in none yet to the newest read. Beyond it the intake of the partition pauses.',
      fallback: 200_000,
      min: 1_000,
      max: 2_000_000,
    }),
  });
}
