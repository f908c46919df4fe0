/** Formats of the output: which options go together. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parse, problemsOf } from './problems-of.ts';

const withOutput = (output: string) => `
kafka: {brokers: [broker:9092]}
service: {baseUrl: "https://review.example", apiKey: key-1}
pipelines: [{name: posts, source: {topic: events}, output: ${output}}]
`;
const outputOf = (output: string) => parse(withOutput(output)).pipelines[0]?.output;

describe('output.cloudEvents', () => {
  it('has a source that is named after the pipeline, unless one is given', () => {
    assert.deepEqual(outputOf('{format: cloudevents}')?.cloudEvents, {
      mode: 'binary',
      source: '/content-review/posts',
    });
    assert.equal(
      outputOf('{format: cloudevents, cloudEvents: {source: "urn:x"}}')?.cloudEvents.source,
      'urn:x',
    );
    assert.match(
      problemsOf(withOutput('{format: cloudevents, cloudEvents: {source: "a b"}}')).join(),
      /a URI reference/,
    );
  });

  it('is refused for another format, unless it says what holds anyway', () => {
    assert.ok(outputOf('{cloudEvents: {mode: binary, source: /content-review/posts}}'));
    assert.deepEqual(problemsOf(withOutput('{cloudEvents: {mode: structured, source: /x}}')), [
      'pipelines[0].output.cloudEvents.mode: has no effect while output.format is json: remove it, or set output.format to cloudevents',
      'pipelines[0].output.cloudEvents.source: has no effect while output.format is json: remove it, or set output.format to cloudevents',
    ]);
  });
});

describe('output.subject', () => {
  it('is refused for a format without a schema', () => {
    for (const format of ['json', 'cloudevents']) {
      assert.deepEqual(problemsOf(withOutput(`{format: ${format}, subject: record-name}`)), [
        `pipelines[0].output.subject: has no effect while output.format is ${format}: remove it, or set output.format to json-schema, avro, or protobuf`,
      ]);
    }
  });

  it('is a strategy or a name', () => {
    for (const wrong of ['record', '{}', '{name: ""}', '{name: a, more: b}', '[]', '{nam: a}']) {
      assert.match(
        problemsOf(withOutput(`{subject: ${wrong}}`)).join(),
        /output\.subject: .*topic-record-name, or \{name: SUBJECT\}/,
      );
    }
  });
});
