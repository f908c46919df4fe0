/** `batch submit` with the sandbox: uploads, output and exit codes. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { describe, it } from 'node:test';
import { EXIT } from '../../../packages/client/src/cli/exit-codes.ts';
import { deadAddress } from '../../../packages/client/test/integration/service/servers.ts';
import type { ServicePolicy } from '../../support/service/fake-service.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { type Bench, bench, run } from './service-commands.ts';

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
/** Final assertion of tests whose input must not be sent. */
function assertNothingSent({ sandbox }: Bench): void {
  assert.deepEqual([sandbox.batches(), sandbox.imports()], [[], []]);
}

describe('batch submit', { timeout: 600_000 }, () => {
  it('refuses unusable files and options before anything is sent', async (t) => {
    const service = await bench(t, nextDirectory());
    const file = service.file('posts.csv', CSV);
    const cases: readonly (readonly [readonly string[], RegExp])[] = [
      [
        [service.path('none.csv'), '-t', 'post'],
        /none\.csv cannot be read: no such file or directory/,
      ],
      [[service.path('.'), '-t', 'post'], /is no regular file\. Nothing was sent/],
      [[service.file('empty.csv', ''), '-t', 'post'], /is empty\. Nothing was sent/],
      [[file], /required option '-t, --type <type>' not specified/],
      [[file, '-t', ' '], /--type needs a type/],
      [[file, '-t', 'post', '--wait', '--timeout', '5'], /has a unit/],
    ];
    for (const [args, message] of cases) {
      const { code, err } = await service.run('batch', 'submit', ...args);
      assert.equal(code, EXIT.usage, err);
      assert.match(err, message);
    }
    assertNothingSent(service);
  });

  it('exits with 5 and the counts if rows have no decision or the batch failed', async (t) => {
    const service = await bench(t, nextDirectory(), POLICY);
    const file = service.file('posts.csv', 'Content\nfail this row\nfine\n');
    const args = ['batch', 'submit', file, '-t', 'post', '--wait'];
    const partly = await service.run(...args);
    assert.equal(partly.code, EXIT.problems);
    assert.match(partly.out, /rows {5}2: 1 decided, 1 failed\n/);
    const [batch] = service.sandbox.batches();
    const results = await service.run('batch', 'results', batch?.batch_id ?? '');
    assert.equal(results.code, EXIT.problems);
    assert.match(results.err, /2 rows, 1 without a decision/);
    assert.match(results.out, /fail this row,ERROR/);
    for (const action of ['batch_error', 'batch_cancelled'] as const) {
      service.faults({ operation: 'review', action });
      const failed = await service.run(...args);
      assert.equal(failed.code, EXIT.problems);
      assert.match(
        failed.out,
        action === 'batch_error' ? /status {3}ERROR/ : /status {3}CANCELLED/,
      );
    }
  });

  it('exits with 6 after --timeout, and prints the command to continue', async (t) => {
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
      /batch \S+ is not finished within --timeout: (?:PENDING|no response yet)[^.]*\.\nTo continue:\n {2}content-review-connector batch get \S{36} --wait --config \S+service\.yaml\n$/,
    );
  });

  it('checks an upload whose response was lost, and sends nothing again', async (t) => {
    const service = await bench(t, nextDirectory());
    service.faults({ operation: 'upload', action: 'reset_after', times: 5 });
    const arrived = await service.run(
      'batch',
      'submit',
      service.file('posts.csv', CSV),
      '-t',
      'post',
      '--wait',
    );
    assert.equal(arrived.code, EXIT.ok, arrived.err);
    assert.match(arrived.err, /the response to the upload was lost, but the file has arrived/);
    service.faults(
      { operation: 'upload', action: 'reset_after', times: 5 },
      { operation: 'get_batch', action: 'state', state: 'WAITING_FOR_UPLOAD' },
    );
    const unclear = await service.run(
      'batch',
      'submit',
      service.file('posts.csv', CSV),
      '-t',
      'post',
      '--wait',
    );
    assert.equal(unclear.code, EXIT.unreachable);
    assert.match(
      unclear.err,
      /It is unknown whether batch \S+ has its file\.\nCheck before you submit the file again.*:\n {2}\S+ batch get \S{36} --config/s,
    );
    assert.equal(service.sandbox.batches().length, 2);
  });

  it('exits with 2 for a rejected type, with 4 for a wrong key, and with 3 for an unreachable service', async (t) => {
    const service = await bench(t, nextDirectory(), { service: { types: ['comment'] } });
    const file = service.file('posts.csv', CSV);
    const type = await service.run('batch', 'submit', file, '-t', 'post');
    assert.equal(type.code, EXIT.usage);
    assert.match(
      type.err,
      /Refused by the service at \S+\. Nothing was sent\.\n {2}create_batch .*known are comment/,
    );
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
    assert.match(
      key.err,
      /The API key \(from service\.apiKey of \S+\) is not accepted by the service at \S+\. Nothing was sent\./,
    );
    assert.doesNotMatch(key.err, /sk-wrong/);
    const none = await connected(await deadAddress(), 'k');
    assert.equal(none.code, EXIT.unreachable);
    assert.match(none.err, /The service at \S+ cannot be reached\. Nothing was sent\./);
    assertNothingSent(service);
  });
});
