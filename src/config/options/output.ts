import { group, value } from '../option.ts';
import { Refusal } from '../units.ts';
import { choice, flag, texts } from '../values.ts';
import { fieldOr } from './mapping.ts';
import { derivedTopic } from './names.ts';

export const OUTPUT_FORMATS = ['json', 'json-schema', 'avro', 'protobuf', 'cloudevents'] as const;
const SUBJECT_STRATEGIES = ['topic-name', 'record-name', 'topic-record-name'] as const;
export type SubjectOption = (typeof SUBJECT_STRATEGIES)[number] | { readonly name: string };

/** Where the default of `cloudEvents.source` has the pipeline's name. */
const SOURCE_PATTERN = '/content-review/<name>';
/** What RFC 3986 lets a URI reference be made of. */
const URI_REFERENCE = /^[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=%]{1,200}$/;

/** `pipelines[].output`: the terminal records of what was understood. */
export function outputOptions() {
  return group('The decisions.', {
    topic: derivedTopic('Must exist.', '<source.topic>.decisions'),
    format: choice({
      help: 'How values are written. cloudevents: JSON with the attributes of a CloudEvent. json-schema, avro and protobuf: with the id of a schema in front; they need schemaRegistry, and the schema must be there before the connector starts (schemas register).',
      of: OUTPUT_FORMATS,
      fallback: 'json',
    }),
    subject: value<SubjectOption>({
      help: "Subject of the schema, for the formats of a schema registry: <topic>-value, the record's full name, <topic>-<full name>, or a name of your own.",
      allowed: `${SUBJECT_STRATEGIES.join(', ')}, or {name: SUBJECT}`,
      fallback: 'topic-name',
      show: (subject) => (typeof subject === 'string' ? subject : `{name: ${subject.name}}`),
      parse: parseSubject,
    }),
    cloudEvents: group('Of format cloudevents.', {
      mode: choice({
        help: 'binary: attributes in headers (ce_id, …), the value is the JSON. structured: the value is the CloudEvent, with the JSON as its data.',
        of: ['binary', 'structured'],
        fallback: 'binary',
      }),
      source: value<string>({
        help: "The attribute source. A decision's source and id together never change.",
        allowed:
          'a URI reference, such as /content-review/posts or https://review.example.com/posts',
        fallback: SOURCE_PATTERN,
        parse: (raw) => {
          if (raw === SOURCE_PATTERN) return '';
          return typeof raw === 'string' && URI_REFERENCE.test(raw) ? raw : new Refusal('');
        },
      }),
    }),
    order: choice({
      help: 'completion: decisions go out as batches finish. source: the batches of each source partition publish in the order in which they were submitted; one slow review then holds up those behind it.',
      of: ['completion', 'source'],
      fallback: 'completion',
    }),
    includeContent: flag({ help: 'Whether a decision repeats the content.', fallback: false }),
    key: fieldOr('source', {
      help: 'The key of a decision: that of its event, or what an expression finds in it, a text or a number (null: no key). Dead letters keep the key of the event.',
      allowed: 'source, or {field: EXPRESSION}',
    }),
    headers: texts({
      help: 'Headers of the source record that its decision carries too.',
      allowed: 'a list of header names, or one text with commas',
      fallback: [],
    }),
    traceHeaders: flag({
      help: "Whether a decision carries its event's traceparent and tracestate, when it has them, and the spans of batches link to them.",
      fallback: true,
    }),
  });
}

/** What `cloudEvents.source` is when it was left out. */
export const eventSourceOf = (name: string): string => SOURCE_PATTERN.replace('<name>', name);

function parseSubject(raw: unknown): SubjectOption | Refusal {
  const strategy = SUBJECT_STRATEGIES.find((known) => known === raw);
  if (strategy !== undefined) return strategy;
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) return new Refusal('');
  const [[key, name] = [], ...more] = Object.entries(raw);
  if (key !== 'name' || more.length > 0) return new Refusal('exactly one name');
  return typeof name === 'string' && name.trim() !== '' && !/\p{Cc}/u.test(name)
    ? { name }
    : new Refusal('name is a text');
}
