/** Formats of the source, and mappings that do not fit them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse, problemsOf } from './problems-of.ts';

const withSource = (source: string, kind = 'review') => `
kafka: {brokers: [broker:9092]}
service: {baseUrl: "https://review.example", apiKey: key-1}
pipelines: [{name: posts, kind: ${kind}, source: {topic: events, ${source}}}]
`;

test('a review of plain text requires a type that is not a field of the value', () => {
  assert.deepEqual(problemsOf(withSource('format: text')), [
    "pipelines[0].source.mapping.type: text has no fields: write {constant: TYPE}, or {field: header('NAME')}",
  ]);
  assert.ok(parse(withSource('format: text, mapping: {type: {constant: post}}')));
  assert.ok(parse(withSource(`format: text, mapping: {type: {field: "header('type')"}}`)));
});

test('plain text is refused for an import and accepted for a lookup', () => {
  assert.match(
    problemsOf(withSource('format: text', 'import')).join(),
    /source\.format: an import needs objects/,
  );
  assert.ok(parse(withSource('format: text', 'lookup')));
});

test('a review of CloudEvents requires the path of the content', () => {
  assert.deepEqual(problemsOf(withSource('format: cloudevents')), [
    'pipelines[0].source.mapping.content: CloudEvents have the payload in data: write data.content, or the path of the content',
  ]);
  assert.ok(parse(withSource('format: cloudevents, mapping: {content: data.text}')));
  assert.ok(parse(withSource('format: cloudevents', 'import')), 'an import finds its data in data');
});
