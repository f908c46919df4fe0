import { mappingSchema, textSchema } from '../json-schema.ts';
import { group, OptionRefusal, value } from '../option.ts';
import { choice, flag, mapping, several, text } from '../values.ts';
import { fieldOr } from './mapping.ts';
import { derived, topic } from './names.ts';

const SUBJECT_STRATEGIES = ['topic-name', 'record-name', 'topic-record-name'] as const;
type SubjectOption = (typeof SUBJECT_STRATEGIES)[number] | { readonly name: string };

export const outputOptions = group('Decisions.', {
  topic: derived(topic('Topic of the decisions; it must exist.'), '<source.topic>.decisions'),
  format: choice(
    'Format of the values. cloudevents: JSON with CloudEvents attributes. json-schema, avro and protobuf begin with a schema id, and require schemaRegistry and a registered schema (schemas register).',
    ['json', 'json-schema', 'avro', 'protobuf', 'cloudevents'],
  ),
  subject: value<SubjectOption>({
    help: "Subject of the schema in the registry: <topic>-value, the record's full name, <topic>-<full name>, or a name of your own.",
    allowed: `${SUBJECT_STRATEGIES.join(', ')}, or {name: SUBJECT}`,
    fallback: 'topic-name',
    schema: { anyOf: [{ enum: SUBJECT_STRATEGIES }, mappingSchema({ name: textSchema(/\S/) })] },
    show: (subject) => (typeof subject === 'string' ? subject : `{name: ${subject.name}}`),
    parse(raw) {
      const strategy = SUBJECT_STRATEGIES.find((known) => known === raw);
      if (strategy !== undefined) return strategy;
      const { name, ...others } = mapping(raw);
      if (typeof name !== 'string' || !/^(?=.*\S)\P{Cc}+$/u.test(name)) throw new OptionRefusal('');
      if (Object.keys(others).length > 0) throw new OptionRefusal('only a name');
      return { name };
    },
  }),
  cloudEvents: group('Options of the format cloudevents.', {
    mode: choice(
      'binary: attributes in headers (ce_id, …), the value is the JSON. structured: the value is the CloudEvent, with the JSON as its data.',
      ['binary', 'structured'],
    ),
    source: derived(
      text({
        help: "Attribute source. A decision's source and id together never change.",
        allowed:
          'a URI reference, such as /content-review/posts or https://review.example.com/posts',
        // The characters of RFC 3986.
        pattern: /^[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=%]{1,200}$/,
      }),
      '/content-review/<name>',
    ),
  }),
  includeContent: flag('Whether a decision repeats the content.', false),
  key: fieldOr(
    'source',
    'Key of a decision: that of its event, or the text or number that an expression finds in it (null: none).',
  ),
  headers: several(
    text({ help: 'Headers of the source record to copy to its decision.', allowed: 'a text' }),
    'header names',
    [],
  ),
  traceHeaders: flag(
    'Whether decisions carry the trace headers of their events, and spans of batches link to them.',
    true,
  ),
});
