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
        metadata: '{"author.id": post.author.id, lang: header(''lang''), id: post.id}'
  - name: users
    kind: import
    source: {topic: users, mapping: {type: {constant: user}, data: "{id: id, name: join(' ', [first, last])}"}}
  - {name: ids, kind: lookup, source: {topic: ids}}
  - {name: texts, source: {topic: texts, format: text, mapping: {type: {constant: note}}}}
  - {name: events, source: {topic: ce, format: cloudevents, mapping: {content: data.text, type: {field: type}, metadata: "{id: id}"}}}
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
  await writeFile(config, CONFIG);
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

  it('takes options of the source alone, or the defaults', async () => {
    const [file, source] = [join(DIRECTORY, 'own.json'), join(DIRECTORY, 'source.yaml')];
    await writeFile(
      source,
      "mapping: {content: post.body, type: {constant: post}}\nfilter: lang == 'en'\n",
    );
    const outcome = async (event: unknown, ...more: string[]) => {
      await writeFile(file, JSON.stringify(event));
      const { code, out } = await here(['check', '--sample', file, '--json', ...more]);
      return [code, JSON.parse(out).outcome];
    };
    const event = (lang: string) => ({ lang, post: { body: 'x' } });
    const own = ['--source', source];
    assert.deepEqual(await outcome(event('en'), ...own), [EXIT.ok, 'accepted']);
    assert.deepEqual(await outcome(event('de'), ...own), [EXIT.problems, 'skipped']);
    assert.deepEqual(await outcome({ type: 'comment', content: 'x' }), [EXIT.ok, 'accepted']);

    // Neither form of the answer may move, colour or turn a terminal.
    await writeFile(file, '{"type":"a\\u009b31m\\u202eb","content":"x"}\n');
    for (const flags of [[], ['--json']]) {
      const { out } = await here(['check', '--sample', file, ...flags]);
      assert.match(out, /a\\u009b31m\\u202eb/);
      assert.doesNotMatch(out, /[\u009b\u202e]/);
    }

    await writeFile(source, 'mapping: {contents: x}\n');
    const wrong = await here(['check', '--sample', file, ...own]);
    assert.equal(wrong.code, EXIT.usage);
    assert.match(wrong.err, /mapping\.contents/);
    const both = await here(['check', '--sample', file, ...own, '-c', source]);
    assert.match(both.err, /--config and --source exclude each other/);
    assert.match((await here(['check'])).err, /required option '-c, --config <file>'/);
    assert.match((await here(['check', ...own])).err, /--source requires --sample/);
  });
});
