/** Resolution of the service's address and key by the commands. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { describe, it } from 'node:test';
import { EXIT } from '../../../packages/client/src/cli/exit-codes.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { bench, KEY, run } from './service-commands.ts';

const DIRECTORY = temporaryDirectory();
let benches = 0;
const nextDirectory = () => path.join(DIRECTORY, String(++benches));

describe('the connection', { timeout: 600_000 }, () => {
  it('comes from the command line, a configuration, or the environment, in this order', async (t) => {
    const service = await bench(t, nextDirectory());
    const { baseUrl } = service.sandbox;
    const keyFile = service.file('key', `${KEY}\n`);
    const get = (args: readonly string[], env: Record<string, string> = {}) =>
      run(['batch', 'get', 'nope', ...args], env);
    const reached = /There is no batch with this id/;
    assert.match((await get([], { ...service.env })).err, reached);
    assert.match(
      (
        await get(['--url', baseUrl, '--api-key-file', keyFile], {
          CONTENT_REVIEW_URL: 'http://127.0.0.1:1',
          CONTENT_REVIEW_API_KEY: 'x',
        })
      ).err,
      reached,
    );
    // The rest of a configuration may need what is not there.
    const config = service.file(
      'c.yaml',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the command fills it in from its environment.
      'kafka: {brokers: "${NOT_SET}"}\nservice: {baseUrl: "${URL}", apiKey: {file: key}}\npipelines: 7\n',
    );
    assert.match(
      (await get(['-c', config], { URL: baseUrl, CONTENT_REVIEW_API_KEY: 'x' })).err,
      reached,
    );
    assert.match((await get(['-c', config, '--url', baseUrl], {})).err, reached);
  });

  it('that is missing or unusable is a usage error, and no key is ever shown', async (t) => {
    const service = await bench(t, nextDirectory());
    const { baseUrl } = service.sandbox;
    const get = (args: readonly string[], env: Record<string, string> = {}) =>
      run(['batch', 'get', 'nope', ...args], env);
    const cases: readonly (readonly [readonly string[], Record<string, string>, RegExp])[] = [
      [
        [],
        { CONTENT_REVIEW_API_KEY: KEY },
        /No address of the service: use --url, set CONTENT_REVIEW_URL/,
      ],
      [['--url', baseUrl], {}, /No API key: set CONTENT_REVIEW_API_KEY/],
      [['--url', baseUrl], { CONTENT_REVIEW_API_KEY: ' ' }, /CONTENT_REVIEW_API_KEY: it is empty/],
      [
        ['--url', 'review.example.com'],
        { CONTENT_REVIEW_API_KEY: KEY },
        /the address of the service must be an absolute http/,
      ],
      [
        ['--url', 'http://me:hunter2@host'],
        { CONTENT_REVIEW_API_KEY: KEY },
        /must have no credentials/,
      ],
      [
        ['--url', baseUrl, '--api-key-file', service.path('none')],
        {},
        /cannot be read from the file \S+none: no such file or directory/,
      ],
      [
        ['--url', baseUrl, '--api-key', 'hunter2'],
        {},
        /A key on the command line can be read by every user/,
      ],
      [
        ['-c', service.file('wrong.yaml', 'service: {baseUrl: 7, apiKeys: hunter2}\n')],
        {},
        /has 3 problems:\n(.*\n)*.*service\.apiKeys: unknown option; did you mean apiKey\?/,
      ],
      [['-c', service.path('none.yaml')], {}, /cannot be read: there is no such file/],
    ];
    for (const [args, env, message] of cases) {
      const { code, err } = await get(args, env);
      assert.equal(code, EXIT.usage, err);
      assert.match(err, message);
      assert.doesNotMatch(err, /hunter2|sk-live/);
    }
  });
  it('that fails is reported with the cause and the remedy', async (t) => {
    const service = await bench(t, nextDirectory());
    const { baseUrl } = service.sandbox;
    const id = (
      await service.run(
        'batch',
        'submit',
        service.file('posts.csv', 'Content\nHello\n'),
        '-t',
        'post',
      )
    ).out.trim();
    const told = async (code: number, message: RegExp, env: Record<string, string> = {}) => {
      const ran = await run(['batch', 'get', id], { ...service.env, ...env });
      assert.equal(ran.code, code, ran.err);
      assert.match(ran.err, message);
    };
    await told(
      EXIT.refused,
      /^The API key \(from CONTENT_REVIEW_API_KEY\) cannot be used\.\n.*was not called/,
      {
        CONTENT_REVIEW_API_KEY: `Bearer ${KEY}`,
      },
    );
    await told(EXIT.usage, /: omit \/v1 from the address\.\n/, {
      CONTENT_REVIEW_URL: `${baseUrl}/v1/`,
    });
    service.faults({ operation: 'get_batch', action: 'answer', status: 429, retryAfter: '1h' });
    await told(EXIT.unreachable, /is not available; it can be retried in 1h\.\n/);
    service.faults({ operation: 'get_batch', action: 'answer', status: 200, body: '<html>' });
    await told(EXIT.failure, /^Unexpected response from the service at \S+\.\n/);
  });
});
