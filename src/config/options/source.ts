import { nearest } from '../../core/nearest.ts';
import { group, value } from '../option.ts';
import { Refusal } from '../units.ts';
import { bytes, choice, integer, texts } from '../values.ts';
import { derivedTopic, jsonPath, pathObjection, topic } from './names.ts';

export const EVENT_FORMATS = ['json', 'text', 'cloudevents', 'avro', 'json-schema', 'protobuf'] as const;
export type EventFormatName = (typeof EVENT_FORMATS)[number];

/** `pipelines[].source`: what to read, and how to understand it. */
export function sourceOptions() {
  return group('What to read, and how to understand it.', {
    topic: topic('Topic of the content events.'),
    group: derivedTopic('Consumer group; replicas of the connector share it, two pipelines never do.', 'content-review-<name>'),
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
    mapping: group('Where the parts of an event are.', {
      content: jsonPath('Of a review: the text or the URL.', 'content'),
      type: value<{ readonly field: string } | { readonly constant: string }>({
        help: 'The content type, which decides the batch, or the type of an imported record: a path into the event, or the same for all events.',
        allowed: '{field: PATH} or {constant: TYPE}',
        fallback: { field: 'type' },
        show: (type) => ('field' in type ? `{field: ${type.field}}` : `{constant: ${type.constant}}`),
        parse: parseType,
      }),
      data: jsonPath('Of an import: the data of the record, an object.', 'data'),
      decisionId: value<string | undefined>({
        help: 'Of a lookup: where the id of the decision is.',
        allowed: 'value (the whole value is the id), or {field: PATH} of a JSON event',
        fallback: 'value',
        show: (path) => (path === undefined ? 'value' : `{field: ${path}}`),
        parse: parseDecisionId,
      }),
      metadata: jsonPath('An object that comes back with the decision; an event may be without.', 'metadata'),
      expectedResult: jsonPath(
        'The result that the producer expects, for comparison; an event may be without.',
        'expected_result',
      ),
    }),
    maxContent: bytes({
      help: 'Largest content, or largest line of an import; a larger one becomes a dead letter.',
      fallback: '4MiB',
      min: '1B',
      max: '1GiB',
    }),
    maxSpan: integer({
      help: 'Distance in offsets between the oldest unsettled and the newest record of a partition at which its intake pauses.',
      fallback: 200_000,
      min: 1_000,
      max: 2_000_000,
    }),
  });
}

function parseDecisionId(raw: unknown): string | undefined | Refusal {
  if (raw === 'value') return undefined;
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) return new Refusal('');
  const [[key, path] = [], ...more] = Object.entries(raw);
  if (key !== 'field' || more.length > 0) return new Refusal('exactly one field');
  if (typeof path !== 'string' || path.trim() === '') return new Refusal('field is a text');
  const objection = pathObjection(path);
  return objection === undefined ? path : new Refusal(objection);
}

function parseType(raw: unknown): { readonly field: string } | { readonly constant: string } | Refusal {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) return new Refusal('');
  const entries = Object.entries(raw).filter(([, entry]) => entry !== null && entry !== undefined);
  const [key, entry] = entries[0] ?? [];
  if (entries.length !== 1 || key === undefined) return new Refusal('exactly one of the two');
  if (key !== 'field' && key !== 'constant') {
    const close = nearest(key, ['field', 'constant']);
    return new Refusal(close === undefined ? '' : `did you mean ${close}?`);
  }
  if (typeof entry !== 'string' || entry.trim() === '') return new Refusal(`${key} is a text`);
  if (key === 'constant') return { constant: entry };
  const objection = pathObjection(entry);
  return objection === undefined ? { field: entry } : new Refusal(objection);
}
