import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
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
  - {name: hostile, source: {topic: hostile}}
  - {name: events, source: {topic: ce, format: cloudevents, mapping: {content: data.text, type: {field: type}, metadata: "{id: id}"}}}
`;

type Run = (
  args: readonly string[],
) => Promise<{ readonly code: number | null; readonly out: string; readonly err: string }>;

/** Runs the command line in this process, because starting a process takes half a second. */
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

describe('check --sample, without Kafka, a service or its key', { timeout: 600_000 }, () => {
  it('exits with 5 if the record would be skipped or become a dead letter', async () => {
    const skipped = await checkedBy(runCliProcess, 'posts', { visibility: 'private' });
    assert.deepEqual([skipped.code, skipped.err], [EXIT.problems, '']);
    assert.match(skipped.out, /it would be skipped \(filter\), with no terminal record/);
    const dead = await checked('posts', {
      visibility: 'public',
      post: { kind: 3, body: 'SECRET' },
    });
    assert.equal(dead.code, EXIT.problems);
    assert.match(
      dead.out,
      /it would become a dead letter on events\.dead-letters\.\ntype_not_allowed: /,
    );
    assert.doesNotMatch(dead.out, /SECRET/);
  });

  it('shows the line of an import, and the request of a lookup', async () => {
    const imported = await checked('users', { id: 7, first: 'Jo', last: 'Do' });
    assert.match(imported.out, /^\{"type":"user","data":\{"id":7,"name":"Jo Do"\}\}$/m);
    const lookedUp = await checked('ids', 'decision/7\n');
    assert.match(lookedUp.out, /^\/v1\/decisions\/decision%2F7$/m);
  });

  it('reads plain text as the content, and JSON as a structured CloudEvent', async () => {
    const text = await checked('texts', 'two\nlines\n');
    assert.match(text.out, /^Content,connector_ref\n"two\nlines","/m);
    const event = {
      specversion: '1.0',
      id: 'e-1',
      source: '/x',
      type: 'post',
      data: { text: 'hi' },
    };
    const structured = await checked('events', event);
    assert.match(structured.out, /as type post\.\nThe sample is read as a structured CloudEvent/);
    const binary = ['ce_specversion=1.0', 'ce_id=e-2', 'ce_source=/x', 'ce_type=post'].flatMap(
      (header) => ['--header', header],
    );
    assert.match((await checked('events', { text: 'hi' }, ...binary)).out, /^hi,e-2,/m);
  });
});
