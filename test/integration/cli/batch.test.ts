/** `batch submit` against the sandbox: uploads, output and exit codes. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { describe, it } from 'node:test';
import { EXIT } from '../../../packages/client/src/cli/exit-codes.ts';
import { deadAddress } from '../../../packages/client/test/integration/service/servers.ts';
import type { ServicePolicy } from '../../support/service/fake-service.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { type Bench, bench, KEY, run } from './service-commands.ts';

const DIRECTORY = temporaryDirectory();
let benches = 0;
const nextDirectory = () => path.join(DIRECTORY, String(++benches));

const CSV = 'Content,author\r\n"Buy now, ""cheap""!\r\nReally.",u-7\r\nGood morning,u-8\r\n';
const POLICY: ServicePolicy = {
  review: {
    rules: [
      { when: { contains: ['fail this row'] }, error: true },
      { when: { contains: ['buy now'] }, result: 'rejected' },
    ],
  },
};
const ID = /^[0-9a-f-]{36}$/;
/** Asserts that the service received no batch and no import. */
function assertNothingSent({ sandbox }: Bench): void {
  assert.deepEqual([sandbox.batches(), sandbox.imports()], [[], []]);
}

describe('batch submit', { timeout: 600_000 }, () => {
  it('sends the file unchanged, and prints only the id on standard output', async (t) => {
    const service = await bench(t, nextDirectory());
    const { code, out, err } = await service.run(
      'batch',
      'submit',
      service.file('posts.csv', CSV),
      '--type',
      'post',
    );
    assert.equal(code, EXIT.ok);
    const id = out.trimEnd();
    assert.match(id, ID);
    assert.equal(out, `${id}\n`);
    assert.match(err, /posts\.csv: 7\d B\nbatch \S+ created\nuploaded/);
    const [batch] = service.sandbox.batches();
    assert.deepEqual([batch?.batch_id, batch?.type, batch?.uploaded !== null], [id, 'post', true]);
  });

  it('refuses unusable files and options before anything is sent', async (t) => {
    const service = await bench(t, nextDirectory());
    const file = service.file('posts.csv', CSV);
    const cases: readonly (readonly [readonly string[], RegExp])[] = [
      [
        [service.path('none.csv'), '-t', 'post'],
        /none\.csv cannot be read: no such file or directory/,
      ],
      [[service.path('.'), '-t', 'post'], /is not a regular file\. Nothing was sent/],
      [[service.file('empty.csv', ''), '-t', 'post'], /is empty\. Nothing was sent/],
      [[file], /required option '-t, --type <type>' not specified/],
      [[file, '-t', ' '], /--type must be the name of a content type/],
      [[file, '-t', 'post', '--wait', '--timeout', '5'], /needs a unit/],
    ];
    for (const [args, message] of cases) {
      const { code, err } = await service.run('batch', 'submit', ...args);
      assert.equal(code, EXIT.usage, err);
      assert.match(err, message);
    }
    assertNothingSent(service);
  });

  it('ends with 5 and the counts when rows have no decision or the batch failed', async (t) => {
    const service = await bench(t, nextDirectory(), POLICY);
    const file = service.file('posts.csv', 'Content\nfail this row\nfine\n');
    const args = ['batch', 'submit', file, '-t', 'post', '--wait'];
    const partly = await service.run(...args);
    assert.equal(partly.code, EXIT.problems);
    assert.deepEqual(JSON.parse(partly.out), {
      batchId: service.sandbox.batches()[0]?.batch_id,
      type: 'post',
      counts: { total: 2, success: 1, pending: 0, error: 1, cancelled: 0 },
      status: 'SUCCESS',
      outcome: 'partly_failed',
    });
    const [batch] = service.sandbox.batches();
    const results = await service.run('batch', 'results', batch?.batch_id ?? '');
    assert.equal(results.code, EXIT.problems);
    assert.match(results.out, /fail this row,ERROR/);
    for (const action of ['batch_error', 'batch_cancelled'] as const) {
      service.faults({ operation: 'review', action });
      const failed = await service.run(...args);
      assert.equal(failed.code, EXIT.problems);
      const { status, outcome } = JSON.parse(failed.out);
      assert.deepEqual(
        [status, outcome],
        [action === 'batch_error' ? 'ERROR' : 'CANCELLED', 'failed'],
      );
    }
  });

  it('ends with 6 and the state of the batch at --timeout', async (t) => {
    const service = await bench(t, nextDirectory());
    service.faults({ operation: 'review', action: 'stuck' });
    const { code, err } = await service.run(
      'batch',
      'submit',
      service.file('posts.csv', CSV),
      '-t',
      'post',
      '--wait',
      '--timeout',
      '50ms',
    );
    assert.equal(code, EXIT.unfinished);
    assert.match(
      err,
      /batch \S{36} did not finish within --timeout: (?:PENDING|no response yet)[^.]*\.\nbatch \S{36} has received its file: do not submit it again\.\n$/,
    );
  });

  it('sends nothing again when the response to the upload is lost', async (t) => {
    const service = await bench(t, nextDirectory());
    service.faults({ operation: 'upload', action: 'reset_after', times: 5 });
    const file = service.file('posts.csv', CSV);
    const { code, err } = await service.run('batch', 'submit', file, '-t', 'post', '--wait');
    assert.equal(code, EXIT.unreachable);
    assert.match(
      err,
      /It is unknown whether batch \S{36} has received its file\. Check with "batch get" before you submit it again/,
    );
    assert.equal(service.sandbox.batches().length, 1);
  });

  it('waits for a batch that the service does not know yet', async (t) => {
    const service = await bench(t, nextDirectory());
    service.faults({ operation: 'get_batch', action: 'answer', status: 404, times: 2 });
    const file = service.file('posts.csv', CSV);
    const { code, out, err } = await service.run('batch', 'submit', file, '-t', 'post', '--wait');
    assert.equal(code, EXIT.ok, err);
    assert.equal(JSON.parse(out).outcome, 'done');
  });

  it('warns against a second submission when the state of a sent file is unavailable, and waits out an outage', async (t) => {
    const service = await bench(t, nextDirectory());
    const file = service.file('posts.csv', CSV);
    const args = ['batch', 'submit', file, '-t', 'post', '--wait'];
    for (const [status, code] of [
      [422, EXIT.failure],
      [401, EXIT.refused],
    ] as const) {
      service.faults({ operation: 'get_batch', action: 'answer', status });
      const lost = await service.run(...args);
      assert.deepEqual([lost.code, lost.out], [code, '']);
      assert.match(
        lost.err,
        new RegExp(
          `get_batch at \\S+ responded with ${status}.*\\nbatch \\S{36} has received its file: do not submit it again\\.\\n$`,
        ),
      );
    }
    service.faults({ operation: 'get_batch', action: 'answer', status: 503, times: 6 });
    const away = await service.run(...args);
    assert.equal(away.code, EXIT.ok, away.err);
    assert.match(away.err, /get_batch: 503, trying again/);
  });

  it('ends with 2 for a type that the service rejects, with 4 for a wrong key, with 3 for an unreachable service', async (t) => {
    const service = await bench(t, nextDirectory(), { service: { types: ['comment'] } });
    const file = service.file('posts.csv', CSV);
    const type = await service.run('batch', 'submit', file, '-t', 'post');
    assert.equal(type.code, EXIT.usage);
    assert.match(type.err, /create_batch at \S+ responded with 400 .*known types are comment/);
    const args = ['batch', 'submit', file, '-t', 'comment'];
    const connected = (baseUrl: string, apiKey: string) =>
      run(
        [
          ...args,
          '-c',
          service.file('other.yaml', `service: {baseUrl: "${baseUrl}", apiKey: ${apiKey}}`),
        ],
        {},
      );
    const key = await connected(service.sandbox.baseUrl, 'sk-wrong-key');
    assert.equal(key.code, EXIT.refused);
    assert.match(key.err, /create_batch at \S+ responded with 401 .*check that the API key/);
    assert.doesNotMatch(key.err, /sk-wrong/);
    const other = service.file(
      'services.yaml',
      `services: {a: {baseUrl: "${service.sandbox.baseUrl}", apiKey: ${KEY}}, b: {apiKey: {env: UNSET}}}`,
    );
    const chosen = await run(['batch', 'get', 'x', '-c', other, '--service', 'a']);
    assert.match(
      chosen.err,
      /get_batch at \S+ responded with 404/,
      'the variable of b is not read',
    );
    const ambiguous = await run(['batch', 'get', 'x', '-c', other]);
    assert.equal(ambiguous.code, EXIT.usage);
    assert.match(ambiguous.err, /choose one with --service \(a, b\)/);
    const none = await connected(await deadAddress(), 'k');
    assert.equal(none.code, EXIT.unreachable);
    assert.match(none.err, /create_batch at \S+ could not be reached/);
    assertNothingSent(service);
  });
});
