import { group } from '../option.ts';
import { choice, flag, several, text } from '../values.ts';
import { fieldOr } from './mapping.ts';
import { derived, topic } from './names.ts';

export const outputOptions = group('Decisions.', {
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
    'Key of a decision: the key of its event, or the text or number that an expression finds in the event (null: none).',
  ),
  headers: several(
    text({ help: 'Headers of the source record to copy to its decision.', allowed: 'a text' }),
    'header names',
    [],
  ),
  traceHeaders: flag(
    'Whether decisions carry the trace headers of their events. With kind: review they are in the upload too.',
    false,
  ),
});
