import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parse, problemsOf } from './problems-of.ts';

const withRegistry = (registry: string, pipeline = '') => `
kafka: {brokers: [broker:9092]}
service: {baseUrl: "https://review.example", apiKey: key-1}
schemaRegistry: ${registry}
pipelines: [{name: posts, source: {topic: events}${pipeline}}]
`;

describe('schemaRegistry', () => {
  it('is required by the schema formats of source and output', () => {
    for (const format of ['avro', 'json-schema', 'protobuf']) {
      assert.deepEqual(problemsOf(withRegistry('{}', `, output: {format: ${format}}`)), [
        `schemaRegistry.urls: required with output.format ${format}`,
      ]);
      assert.ok(
        parse(
          withRegistry('{urls: ["https://registry.example"]}', `, output: {format: ${format}}`),
        ),
      );
    }
    assert.match(
      problemsOf(withRegistry('{}').replace('topic: events', 'topic: events, format: avro')).join(),
      /^schemaRegistry\.urls: required with source\.format avro/,
    );
  });

  it('accepts only URLs without credentials, and never shows the credentials of a URL', () => {
    assert.deepEqual(
      parse(withRegistry('{urls: "http://a:8081,https://b/apis/ccompat/v7"}')).schemaRegistry.urls,
      ['http://a:8081', 'https://b/apis/ccompat/v7'],
    );
    for (const [url, hint] of [
      ['https://u:hush@b', /user and password belong in/],
      ['https://b?x=1', /without query/],
      ['b:8081', /expected an https/],
    ] as const) {
      const problems = problemsOf(withRegistry(`{urls: ["${url}"]}`)).join();
      assert.match(problems, hint);
      assert.doesNotMatch(problems, /hush/);
    }
  });

  it('requires https for credentials, except with insecureWithoutTls or on this machine', () => {
    const registry = (url: string, more = '') =>
      withRegistry(`{urls: ["${url}"], token: t${more}}`);
    assert.match(
      problemsOf(registry('http://registry:8081')).join(),
      /schemaRegistry\.urls: http sends the credentials/,
    );
    for (const text of [
      registry('http://127.0.0.1:8081'),
      registry('https://registry:8081'),
      registry('http://registry:8081', ', insecureWithoutTls: true'),
    ]) {
      assert.ok(parse(text));
    }
  });
});
