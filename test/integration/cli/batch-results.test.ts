/** `batch get` and `batch results` against the sandbox: states as exit codes, and result files that are whole or not there. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { EXIT } from '../../../packages/client/src/cli/exit-codes.ts';
import { CommandProgress } from '../../../packages/client/src/cli/progress.ts';
import { fetchResults } from '../../../packages/client/src/cli/results.ts';
import { ContentReviewClient } from '../../../packages/client/src/index.ts';
import type { SandboxOptions } from '../../../packages/sandbox/src/sandbox.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { bench, KEY } from './service-commands.ts';

const DIRECTORY = temporaryDirectory();
let benches = 0;
const nextDirectory = () => path.join(DIRECTORY, String(++benches));

const CSV = 'Content,author\r\n"Buy now, ""cheap""!\r\nReally.",u-7\r\nGood morning,u-8\r\n';
const POLICY: SandboxOptions['policy'] = {
  review: { rules: [{ when: { contains: ['buy now'] }, result: 'rejected' }] },
};

describe('batch get and batch results', { timeout: 600_000 }, () => {
  it('show the state as text, JSON and exit code', async (t) => {
    const service = await bench(t, nextDirectory(), POLICY);
    const submit = async () =>
      (
        await service.run('batch', 'submit', service.file('posts.csv', CSV), '-t', 'post')
      ).out.trim();
    service.faults({ operation: 'review', action: 'stuck' });
    const stuck = await submit();
    const pending = await service.run('batch', 'get', stuck, '--json');
    assert.equal(pending.code, EXIT.unfinished);
    assert.equal(JSON.parse(pending.out).outcome, 'unfinished');
    const early = await service.run('batch', 'results', stuck);
    assert.deepEqual([early.code, early.out], [EXIT.unfinished, '']);
    assert.match(early.err, /There are no results yet: --wait waits for them\./);

    const id = await submit();
    assert.equal((await service.run('batch', 'get', id, '--wait')).code, EXIT.ok);
    const csv = await service.run('batch', 'results', id);
    assert.equal(csv.code, EXIT.ok);
    assert.match(csv.out, /^Content,Status,/);
    const rows = (await service.run('batch', 'results', id, '--json')).out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.deepEqual(
      rows.map(({ row, content, status, result, metadata }) => [
        row,
        content,
        status,
        result,
        metadata,
      ]),
      [
        [1, 'Buy now, "cheap"!\r\nReally.', 'SUCCESS', 'rejected', { author: 'u-7' }],
        [2, 'Good morning', 'SUCCESS', 'approved', { author: 'u-8' }],
      ],
    );
    const unknown = await service.run('batch', 'get', 'nope');
    assert.equal(unknown.code, EXIT.usage);
    assert.match(unknown.err, /There is no batch with this id at the service at http/);
  });

  it('continue a download that breaks off, byte for byte, and leave no incomplete file', async (t) => {
    const service = await bench(t, nextDirectory());
    const file = service.file(
      'posts.csv',
      `Content\n${Array.from({ length: 3_000 }, (_, n) => `row ${n} of many\n`).join('')}`,
    );
    const id = (await service.run('batch', 'submit', file, '-t', 'post')).out.trim();
    const whole = await service.run('batch', 'results', id, '--wait');
    const results = service.path('results.csv');
    service.faults(
      { operation: 'download', action: 'cut', afterBytes: 20_000 },
      { operation: 'download', action: 'cut', afterBytes: 50_000 },
    );
    const resumed = await service.run('batch', 'results', id, '--output', results);
    assert.equal(resumed.code, EXIT.ok, resumed.err);
    assert.match(resumed.err, /download: broken off, trying again/);
    assert.equal(readFileSync(results, 'utf8'), whole.out);

    service.faults({ operation: 'download', action: 'short', bytes: 20_000 });
    const short = await service.run('batch', 'results', id, '--output', service.path('short.csv'));
    assert.equal(short.code, EXIT.failure);
    assert.match(short.err, /the result file has \d+ whole rows, but the service counted 3000/);
    assert.deepEqual(readdirSync(path.dirname(results)).sort(), [
      'posts.csv',
      'results.csv',
      'service.yaml',
    ]);
  });

  it('show the rows as JSON with the result of --result-column', async (t) => {
    const service = await bench(t, nextDirectory());
    const csv = 'Content,Lab result,Status\nGood morning,positive,mystatus\n';
    const submitted = await service.run(
      'batch',
      'submit',
      service.file('lab.csv', csv),
      '-t',
      'post',
      '--wait',
      '--json',
    );
    const { batchId } = JSON.parse(submitted.out);
    const row = async (...flags: string[]) =>
      JSON.parse((await service.run('batch', 'results', batchId, '--json', ...flags)).out);
    const { status, result, metadata } = await row();
    assert.deepEqual(
      [status, result, metadata],
      ['SUCCESS', 'approved', { 'Lab result': 'positive', Status: 'mystatus' }],
    );
    assert.equal((await row('--result-column', 'Lab result')).result, 'positive');
    const wrong = await service.run('batch', 'results', batchId, '--result-column', 'No result');
    assert.match(wrong.err, /no column "No result"/);
    const digits =
      '[{"name":"a","applied":true,"explanation":"e","n":12345678901234567890,"p":0.10}]';
    const body = `Content,Status,S result,Labels\nx,SUCCESS,ok,"${digits.replaceAll('"', '""')}"\n`;
    service.faults({ operation: 'download', action: 'answer', status: 200, body });
    const exact = await service.run('batch', 'results', batchId, '--json');
    assert.ok(exact.out.includes(`"labels":${digits}`), exact.out);
    service.faults({ operation: 'review', action: 'stuck' });
    const stuck = (
      await service.run('batch', 'submit', service.path('lab.csv'), '-t', 'post')
    ).out.trim();
    const flags = ['--json', '--result-column', 'Lab result'];
    const waited = await service.run(
      'batch',
      'results',
      stuck,
      '--wait',
      '--timeout',
      '100ms',
      ...flags,
    );
    assert.deepEqual(
      [waited.code, waited.err.includes("--json --result-column 'Lab result'")],
      [EXIT.unfinished, true],
      waited.err,
    );
  });

  it('keep no file that is no result file, or ends within a row', async (t) => {
    const service = await bench(t, nextDirectory());
    const submitted = await service.run(
      'batch',
      'submit',
      service.file('posts.csv', CSV),
      '-t',
      'post',
      '--wait',
      '--json',
    );
    const { batchId } = JSON.parse(submitted.out);
    const bodies = {
      'a page': [
        '<html>\n<body>\n</body>\n</html>\n',
        /no result file: fetch them again.*\n.*the result file is HTML or XML, not CSV/,
      ],
      'an error': ['{"error":"not now"}\n', /the result file is JSON, not CSV/],
      nothing: ['', /the result file is empty/],
      'half a row': ['Content,Status,S result\nx,SUCCESS,ok\ny,SUC', /ends within a row/],
    } as const;
    for (const [name, [body, message]] of Object.entries(bodies)) {
      service.faults({ operation: 'download', action: 'answer', status: 200, body });
      const { code, err } = await service.run(
        'batch',
        'results',
        batchId,
        '--output',
        service.path('results.csv'),
      );
      assert.equal(code, EXIT.failure, name);
      assert.match(err, message, name);
      assert.equal(readdirSync(service.path('.')).includes('results.csv'), false, name);
    }
  });

  it('end at an abort even when their reader is stalled', async (t) => {
    const service = await bench(t, nextDirectory());
    const submitted = await service.run(
      'batch',
      'submit',
      service.file('posts.csv', CSV),
      '-t',
      'post',
      '--wait',
      '--json',
    );
    const { batchId } = JSON.parse(submitted.out);
    const client = new ContentReviewClient({ baseUrl: service.sandbox.baseUrl, apiKey: KEY });
    t.after(() => client.close());
    const never = () => assert.fail('not used');
    const io = {
      env: {},
      program: 'crc',
      outIsTerminal: false,
      errColumns: () => undefined,
      out: never,
      err: never,
      data: never,
      finish: never,
    };
    for (const flags of [{}, { json: true as const }]) {
      const stop = new AbortController();
      const reason = new Error('enough');
      const write = (): Promise<boolean> => {
        setImmediate(() => stop.abort(reason));
        return new Promise(() => {});
      };
      const session = {
        io,
        client,
        baseUrl: '',
        keyFrom: '',
        flags,
        progress: new CommandProgress(io),
        signal: stop.signal,
      };
      const output = { write, complete: never, discard: never };
      await assert.rejects(
        fetchResults(session, { id: batchId, rows: 2 }, output),
        (error) => error === reason,
      );
    }
  });

  it('replace a file only with --force', async (t) => {
    const service = await bench(t, nextDirectory());
    const id = (
      await service.run(
        'batch',
        'submit',
        service.file('posts.csv', CSV),
        '-t',
        'post',
        '--wait',
        '--json',
      )
    ).out;
    const { batchId } = JSON.parse(id);
    const there = service.file('there.csv', 'precious');
    assert.equal((await service.run('batch', 'results', batchId, '-o', there)).code, EXIT.usage);
    assert.equal(readFileSync(there, 'utf8'), 'precious');
    assert.equal(
      (await service.run('batch', 'results', batchId, '-o', there, '--force')).code,
      EXIT.ok,
    );
    assert.match(readFileSync(there, 'utf8'), /^Content,/);
    assert.equal((await service.run('batch', 'results', batchId, '-o', '/dev/null')).code, EXIT.ok);
  });
});
