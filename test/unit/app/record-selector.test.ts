/** Conditions of a search, compared with records in the formats of the pipeline. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { stringify } from 'yaml';
import { schemaRegistry } from '../../../src/app/clients/schema-registry.ts';
import { recordSelector, withQuotedNumbers } from '../../../src/app/tools/record-selector.ts';
import type { SourceRecord } from '../../../src/core/record.ts';
import { expressionProblem } from '../../../src/events/expression/index.ts';
import { RegistryUnavailable } from '../../../src/events/registry/index.ts';
import type { RecordConditions } from '../../../src/tools/inspect/explain/search.ts';
import { confluentRecords } from '../../support/formats/confluent-records.ts';
import { serveRegistry } from '../../support/memory/registry-server.ts';
import { MemoryRegistry } from '../../support/memory/schema-registry.ts';
import { parse } from '../config/problems-of.ts';

const SECRET = 'not-to-be-shown';
const { signal } = new AbortController();

function record(value: unknown, key: string | null = null): SourceRecord {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return {
    ...{ partition: 0, offset: 0, timestampMs: 0, headers: [] },
    key: key === null ? null : Buffer.from(key),
    value: value === null ? null : Buffer.from(text),
  };
}

async function select(
  conditions: Partial<RecordConditions>,
  records: readonly SourceRecord[],
  source: object = {},
  schemas?: object,
) {
  const config = parse(
    stringify({
      kafka: { brokers: ['broker:9092'] },
      service: { baseUrl: 'https://review.example', apiKey: 'k' },
      ...(schemas && { schemaRegistry: schemas }),
      pipelines: [{ name: 'p', source: { topic: 'events', ...source } }],
    }),
  );
  const [pipeline] = config.pipelines;
  assert.ok(pipeline !== undefined);
  const registry = schemaRegistry(config);
  const selector = await recordSelector(pipeline, registry, {
    on: 'events',
    ...conditions,
  });
  const { matches, failures } = await selector(records, signal).finally(() => registry?.close());
  return { found: matches.map((one) => records.indexOf(one)), failures };
}

const post = (id: unknown) => record({ content: SECRET, type: 'post', metadata: { post: id } });

test('events are found by key, by expression, and by both', async () => {
  const records = [
    record({ metadata: { post: 42 } }, 'a'),
    record({ metadata: { post: 42 } }, 'b'),
    record({ metadata: { post: 7 } }, 'a'),
    record(null, 'a'),
  ];
  assert.deepEqual((await select({ key: 'a' }, records)).found, [0, 2, 3]);
  assert.deepEqual((await select({ where: 'metadata.post == 42' }, records)).found, [0, 1]);
  const both = await select({ key: 'a', where: 'metadata.post == `42`' }, records);
  assert.deepEqual([both.found, both.failures], [[0], []]);
});

test('all digits of a number count', async () => {
  const records = ['9007199254740993', '9007199254740992'].map((id) =>
    record(`{"metadata":{"post":${id}}}`),
  );
  const where = "to_string(metadata.post) == '9007199254740993'";
  assert.deepEqual((await select({ where }, records)).found, [0]);
});

test('records that cannot be compared are reported without their content', async () => {
  const records = [record(SECRET), record('[]'), post(SECRET), post(true), post(false), post(null)];
  const { found, failures } = await select({ where: 'metadata.post' }, records);
  assert.deepEqual(found, [3]);
  assert.equal(failures.length, 3);
  assert.match(failures[2] ?? '', /must be true or false, but is a string \(--where\)$/);
  assert.doesNotMatch(failures.join(), new RegExp(SECRET));
});

test('an expression that takes too long ends, and so does its search', async () => {
  const list = Array.from({ length: 3_000 }, (_, n) => n);
  const where = 'length(metadata.a[*].[@, $, $.metadata.a[*].[@, $]]) == 0';
  const { found, failures } = await select({ where }, [record({ metadata: { a: list } })]);
  assert.deepEqual(found, []);
  assert.match(failures[0] ?? '', /takes too long/);
});

test('an invalid expression is refused before anything is read', async () => {
  await assert.rejects(select({ where: 'metadata.post = 42' }, []), {
    name: 'InspectError',
    failure: 'usage',
    message: /^--where: .* compares nothing; write == \(docs\/mapping\.md\)$/,
  });
});

test('decisions are compared as JSON', async () => {
  const decision = { result: 'spam', metadata: { post: 42 } };
  const records = [record(decision), record({ result: 'ham', metadata: {} })];
  const where = "result == 'spam' && metadata.post == 42";
  const { found, failures } = await select({ on: 'decisions', where }, records, {
    ...{ format: 'text', mapping: { type: { constant: 'post' } } },
  });
  assert.deepEqual([found, failures], [[0], []]);
});

test('events in formats of a registry are compared: their schemas are loaded first', async (t) => {
  const memory = new MemoryRegistry();
  const { url, close } = await serveRegistry(() => memory);
  t.after(close);
  // The registry in memory serves no references.
  const written = await confluentRecords(memory, signal);
  for (const format of ['avro', 'protobuf'] as const) {
    const mine = written.filter(
      (one) => one.format === format && !/reference|as a file/.test(one.name),
    );
    const records = mine.map(({ value }) => ({ ...record(null), value }));
    const schemas = { urls: [url] };
    const { found, failures } = await select(
      { where: "type(@) == 'object'" },
      records,
      { format },
      schemas,
    );
    const readable = mine.flatMap(({ expected }, index) => (expected === null ? [] : [index]));
    assert.ok(readable.length > 0);
    assert.deepEqual([found, failures.length], [readable, records.length - readable.length]);
  }
});

test('a registry that refuses the credentials ends the search with its reason', async (t) => {
  const memory = new MemoryRegistry();
  const { url, close } = await serveRegistry(() => memory);
  t.after(close);
  memory.failure = new RegistryUnavailable('401', 'the registry refuses the credentials (401)');
  const value = Buffer.concat([Buffer.from([0, 0, 0, 0, 1]), Buffer.from('x')]);
  await assert.rejects(
    select({ on: 'decisions', where: 'a == 1' }, [{ ...record(null), value }], {}, { urls: [url] }),
    { name: 'InspectError', failure: 'refused', message: /use credentials that may read/ },
  );
});

test('compared numbers need no backticks, and nothing else of an expression changes', () => {
  for (const [text, expected] of [
    ['a == 42', 'a == `42`'],
    ['a>=-1.5&&b[0] < 3', 'a>=`-1.5`&&b[0] < `3`'],
    ["a == '== 42' && b == `42`", "a == '== 42' && b == `42`"],
    ['a == 42b', 'a == 42b'],
    ['a[?b == 1].c[0:2]', 'a[?b == `1`].c[0:2]'],
  ] as const)
    assert.equal(withQuotedNumbers(text), expected);
  const part = fc.constantFrom('a', '==', '<', '42', '`1`', "'== 2'", '"x == 3"', '[0]', '&&', '.');
  fc.assert(
    fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
      const text = parts.join(' ');
      if (expressionProblem(text) === undefined) assert.equal(withQuotedNumbers(text), text);
    }),
  );
});
