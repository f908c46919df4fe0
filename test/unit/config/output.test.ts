/** Formats of the output: which options go together. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parse, problemsOf } from './problems-of.ts';

const withOutput = (output: string, more = '') => `
kafka: {brokers: [broker:9092]}
service: {baseUrl: "https://review.example", apiKey: key-1}
pipelines: [{name: posts, source: {topic: events}, output: ${output}}]
${more}
`;

describe('output.subject', () => {
  it('is named after the topic, unless one is given', () => {
    const subject = (options: string) =>
      parse(withOutput(options, 'schemaRegistry: {urls: "http://127.0.0.1:1"}')).pipelines[0]
        ?.output.subject;
    assert.equal(subject('{format: avro, topic: out}'), 'out-value');
    assert.equal(subject('{format: avro, subject: my decisions}'), 'my decisions');
    assert.match(
      problemsOf(withOutput('{format: avro, subject: " "}')).join(),
      /output\.subject: /,
    );
  });
});
