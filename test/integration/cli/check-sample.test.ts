import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parse } from 'csv-parse/sync';
import { EXIT } from '../../../packages/client/src/cli/exit-codes.ts';
import { runCli } from '../../../src/cli/program.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { runCliProcess } from './cli-process.ts';

const DIRECTORY = temporaryDirectory();
const CONFIG = `
kafka: {brokers: "127.0.0.1:1"}
service: {baseUrl: "https://review.example", apiKey: {env: NOT_SET}}
pipelines:
  - name: posts
    source:
      topic: events
      filter: visibility == 'public'
      mapping:
        content: post.body
        type: {field: post.kind, map: {1: comment, true: article}}
        metadata: {fields: {author.id: post.author.id, lang: header('lang'), id: post.id}}
  - name: users
    kind: import
    source: {topic: users, mapping: {type: {constant: user}, data: "{id: id, name: join(' ', [first, last])}"}}
  - {name: ids, kind: lookup, source: {topic: ids}}
  - {name: texts, source: {topic: texts, format: text, mapping: {type: {constant: note}}}}
  - {name: events, source: {topic: ce, format: cloudevents, mapping: {content: data.text, type: {field: type}, metadata: "{id: id}"}}}
`;

const OUTPUTS = `
kafka: {brokers: "127.0.0.1:1"}
service: {baseUrl: "https://review.example", apiKey: {env: NOT_SET}}
schemaRegistry: {urls: ["http://127.0.0.1:1"]}
pipelines:
  - {name: avro, source: {topic: c}, output: {format: avro}}
  - {name: protobuf, kind: import, source: {topic: d}, output: {format: protobuf, subject: receipts}}
  - {name: framed, kind: lookup, source: {topic: e}, output: {format: json-schema, subject: mine}}
`;

type Run = (
  args: readonly string[],
) => Promise<{ readonly code: number | null; readonly out: string; readonly err: string }>;

/** The command line in this process: starting one takes half a second. */
const here: Run = async (args) => {
  const said = { out: '', err: '' };
  const hear = (name: 'out' | 'err') => (text: string) => {
    said[name] += text;
  };
  const code = await runCli(args, { env: {}, out: hear('out'), err: hear('err') });
  return { code, ...said };
};

async function checkedBy(
  run: Run,
  pipeline: string | undefined,
  value: unknown,
  ...more: string[]
) {
  const [config, sample] = [join(DIRECTORY, 'c.yaml'), join(DIRECTORY, `${Math.random()}.json`)];
  await writeFile(
    config,
    pipeline !== undefined && OUTPUTS.includes(`{name: ${pipeline},`) ? OUTPUTS : CONFIG,
  );
  await writeFile(sample, typeof value === 'string' ? value : JSON.stringify(value));
  const name = pipeline === undefined ? [] : ['--pipeline', pipeline];
  return run(['check', '--config', config, '--sample', sample, ...name, ...more]);
}

const checked = (pipeline: string | undefined, value: unknown, ...more: string[]) =>
  checkedBy(here, pipeline, value, ...more);

const EVENT =
  '{"visibility":"public","post":{"kind":1,"body":"Hi, \\"you\\"","id":12345678901234567890,"author":{"id":"007"}}}';

describe('check --sample, without Kafka, a service or its key', { timeout: 600_000 }, () => {
  it('shows the CSV row to upload, and the decision of the event', async () => {
    const { code, out, err } = await checkedBy(
      runCliProcess,
      'posts',
      EVENT,
      '--key',
      'user-7',
      '--header',
      'lang=en',
      '--json',
    );
    assert.deepEqual([code, err], [EXIT.ok, '']);
    const { upload, published, ...rest } = JSON.parse(out);
    assert.deepEqual(rest, {
      pipeline: 'posts',
      kind: 'review',
      notes: [],
      outcome: 'accepted',
      type: 'comment',
    });
    const [header, row] = parse(upload) as string[][];
    assert.deepEqual(header, ['Content', 'author.id', 'lang', 'id', 'connector_ref']);
    assert.deepEqual(row?.slice(0, 4), ['Hi, "you"', '007', 'en', '12345678901234567890']);
    assert.match(out, /"metadata":\{"author\.id":"007","lang":"en","id":12345678901234567890\}/);
    assert.deepEqual(
      [published.topic, published.key, published.value.result],
      ['events.decisions', 'user-7', 'INVENTED'],
    );
  });

  it('shows the same as text, and marks the result as invented', async () => {
    const { code, out } = await checked('posts', EVENT, '--key', 'user-7');
    assert.equal(code, EXIT.ok);
    assert.match(out, /it would be reviewed, as type comment\./);
    assert.match(out, /^Content,author\.id,id,connector_ref\n"Hi, ""you""",007,1234/m);
    assert.match(
      out,
      /invented response INVENTED of the service:\n\ntopic {4}events\.decisions\nkey {6}user-7\nheaders {2}event-id: events-0-0\nvalue {4}\{/,
    );
  });

  it('ends with 11 when the record would be skipped or become a dead letter', async () => {
    const skipped = await checkedBy(runCliProcess, 'posts', { visibility: 'private' });
    assert.deepEqual([skipped.code, skipped.err], [EXIT.problems, '']);
    assert.match(skipped.out, /it would be skipped \(filter\), with no terminal record/);
    const dead = await checked(
      'posts',
      { visibility: 'public', post: { kind: 3, body: 'SECRET' } },
      '--json',
    );
    assert.equal(dead.code, EXIT.problems);
    assert.deepEqual(JSON.parse(dead.out), {
      pipeline: 'posts',
      kind: 'review',
      notes: [],
      outcome: 'dead_letter',
      topic: 'events.dead-letters',
      reason: 'type_not_allowed',
      message:
        '"post.kind" is a number that source.mapping.type.map does not have (source.mapping.type.field)',
    });
  });

  it('shows the line and the receipt of an import, and the request and the response of a lookup', async () => {
    const imported = JSON.parse(
      (await checked('users', { id: 7, first: 'Jo', last: 'Do' }, '--json')).out,
    );
    assert.equal(imported.upload, '{"type":"user","data":{"id":7,"name":"Jo Do"}}\n');
    assert.deepEqual(
      [imported.published.topic, imported.published.value.import_status],
      ['users.decisions', 'COMPLETE'],
    );
    const lookedUp = JSON.parse((await checked('ids', 'decision/7\n', '--json')).out);
    assert.equal(lookedUp.upload, '/v1/decisions/decision%2F7');
    assert.equal(lookedUp.published.value.decision_id, 'decision/7');
  });

  it('reads a text as the content, and JSON as a structured CloudEvent', async () => {
    const text = JSON.parse((await checked('texts', 'two\nlines\n', '--json')).out);
    assert.match(text.upload, /^Content,connector_ref\r\n"two\nlines","/);
    const event = {
      specversion: '1.0',
      id: 'e-1',
      source: '/x',
      type: 'post',
      data: { text: 'hi' },
    };
    const structured = await checked('events', event);
    assert.match(structured.out, /as type post\.\nThe sample is taken for a structured CloudEvent/);
    const binary = ['ce_specversion=1.0', 'ce_id=e-2', 'ce_source=/x', 'ce_type=post'].flatMap(
      (header) => ['--header', header],
    );
    assert.match((await checked('events', { text: 'hi' }, ...binary)).out, /^hi,e-2,/m);
  });

  it('shows the schema and the subject that would encode a value, and its JSON', async () => {
    for (const [pipeline, event, note] of [
      [
        'avro',
        { type: 'post', content: 'x' },
        'avro (contracts/avro/decision.avsc), under subject c.decisions-value',
      ],
      [
        'protobuf',
        { type: 'user', data: {} },
        'protobuf (contracts/protobuf/receipt.proto), under subject receipts',
      ],
      [
        'framed',
        'd-7',
        'json-schema (contracts/looked-up-decision.schema.json), under subject mine',
      ],
    ] as const) {
      const { code, out } = await checked(pipeline, event, '--json');
      assert.equal(code, EXIT.ok);
      const { published, notes } = JSON.parse(out);
      assert.deepEqual(notes, [
        `The value would be published in the format ${note}. Its JSON is shown: the schema id in front of it is known to the registry only.`,
      ]);
      assert.equal(published.value.status, 'SUCCESS');
      assert.match(
        (await checked(pipeline, event)).out,
        /\nThe value would be published in the format /,
      );
    }
  });

  it('counts the events of a .jsonl file and names the lines of the others, by defaults or by options of the source', async () => {
    const file = join(DIRECTORY, 'events.jsonl');
    const lines = [
      '{"type":"comment","content":"SECRET"}',
      '',
      '{"type":"comment"}',
      '{"type":"article","content":"x"}\r',
      'SECRET',
    ];
    await writeFile(file, `\ufeff${lines.join('\n')}`);
    const plain = await runCliProcess(['check', '--sample', file]);
    assert.deepEqual([plain.code, plain.err], [EXIT.problems, '']);
    assert.match(
      plain.out,
      /: 2 events accepted \(1 comment, 1 article\), 0 skipped, 2 dead letters \(1 no_content, 1 not_json\)\.\n {2}line 3: dead letter, no_content: .+\n {2}line 5: dead letter, not_json: /,
    );
    assert.doesNotMatch(plain.out, /SECRET/);

    const source = join(DIRECTORY, 'source.yaml');
    await writeFile(
      source,
      "mapping: {content: post.body, type: {constant: post}}\nfilter: lang == 'en'\n",
    );
    const own = join(DIRECTORY, 'own.jsonl');
    const event = (lang: string) => JSON.stringify({ lang, post: { body: 'x' } });
    await writeFile(own, `${event('en')}\n${event('de')}\n`);
    const mapped = await here(['check', '--sample', own, '--source', source, '--json']);
    assert.equal(mapped.code, EXIT.ok);
    assert.deepEqual(JSON.parse(mapped.out), {
      ...{ pipeline: 'sample', kind: 'review', notes: [], accepted: 1, types: { post: 1 } },
      ...{ skipped: { filter: 1 }, dead_letters: {} },
      problems: [{ line: 2, message: 'skipped: filter' }],
    });
    await writeFile(own, event('de'));
    const none = await here(['check', '--sample', own, '--source', source]);
    assert.equal(none.code, EXIT.problems);

    // Neither form of the answer may move, colour or turn a terminal.
    await writeFile(own, '{"type":"a\\u009b31m\\u202eb","content":"x"}\n');
    for (const flags of [[], ['--json']]) {
      const { out } = await here(['check', '--sample', own, ...flags]);
      assert.match(out, /a\\u009b31m\\u202eb/);
      assert.doesNotMatch(out, /[\u009b\u202e]/);
    }

    const one = await here(['check', '--sample', join(DIRECTORY, 'none.jsonl')]);
    assert.match(one.err, /none\.jsonl cannot be read: no such file or directory/);
    await writeFile(source, 'mapping: {contents: x}\n');
    const wrong = await here(['check', '--sample', own, '--source', source]);
    assert.equal(wrong.code, EXIT.usage);
    assert.match(wrong.err, /mapping\.contents/);
    const both = await here(['check', '--sample', own, '--source', source, '-c', source]);
    assert.match(both.err, /--config and --source exclude each other/);
    assert.match((await here(['check'])).err, /required option '-c, --config <file>'/);
    assert.match((await here(['check', '--source', source])).err, /--source requires --sample/);
  });

  it('reports invalid options and samples', async () => {
    for (const [args, pattern] of [
      [['--pipeline', 'post'], /no pipeline "post": did you mean posts\?/],
      [[], /choose one with --pipeline \(posts, users, ids, texts, events\)/],
      [['--pipeline', 'posts', '--header', 'lang'], /A header is NAME=VALUE/],
    ] as const) {
      const { code, err } = await checked(undefined, EVENT, ...args);
      assert.equal(code, EXIT.usage);
      assert.match(err, pattern);
    }
    const config = join(DIRECTORY, 'c.yaml');
    const missing = await here([
      'check',
      '-c',
      config,
      '-p',
      'posts',
      '--sample',
      join(DIRECTORY, 'none.json'),
    ]);
    assert.match(missing.err, /none\.json cannot be read: no such file or directory/);
    assert.match(
      (await here(['check', '-c', config, '--key', 'x'])).err,
      /--key requires --sample/,
    );
  });
});
