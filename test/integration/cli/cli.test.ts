import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { EXIT, EXIT_MEANINGS } from '../../../packages/client/src/cli/exit-codes.ts';
import { runCliProcess, startCli } from './cli-process.ts';

const TIMEOUT = { timeout: 600_000 };

let directory: string;
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'cli-'));
});
after(() => rm(directory, { recursive: true }));

async function file(name: string, text: string): Promise<string> {
  const path = join(directory, name);
  await writeFile(path, text);
  return path;
}

describe('the command line as a process', TIMEOUT, () => {
  it('lists every command, the first steps and every exit code with --help', async () => {
    const { code, out, err } = await runCliProcess(['--help']);
    assert.equal(code, EXIT.ok);
    assert.equal(err, '');
    for (const command of [
      'run',
      'check',
      'doctor',
      'explain',
      'audit',
      'dead-letters',
      'batch',
      'import',
      'decision',
      'sandbox',
    ])
      assert.match(out, new RegExp(`^ {2}${command} `, 'm'));
    assert.match(out, /npm run demo/);
    for (const [name, meaning] of Object.entries(EXIT_MEANINGS))
      assert.match(out, new RegExp(`^ {2}${EXIT[name as keyof typeof EXIT]} +${meaning}`, 'm'));
  });

  it('exits with 2 and the usage for missing or invalid arguments', async () => {
    for (const [args, pattern] of [
      [[], /Usage: content-review-connector/],
      [['chekc'], /unknown command 'chekc'\n\(Did you mean check\?\)/],
      [['check'], /required option '-c, --config <file>' not specified/],
      [
        ['run', '--config', 'x', '--confg', 'y'],
        /unknown option '--confg'\n\(Did you mean --config\?\)/,
      ],
      [['sandbox', '--port', '70000'], /A port must be a whole number from 0 to 65535/],
    ] as const) {
      const { code, out, err } = await runCliProcess(args);
      assert.equal(code, EXIT.usage, args.join(' '));
      assert.equal(out, '');
      assert.match(err, pattern);
    }
  });
});

describe('check as a process', TIMEOUT, () => {
  it('exits with 2 and all problems on standard error', async () => {
    const path = await file(
      'bad.yaml',
      'kafka: {broker: a}\nservice: {baseUrl: 7, apiKey: {env: NONE}}\npipelines: [{name: X, batch: {maxAge: 30}}]\n',
    );
    const { code, out, err } = await runCliProcess(['check', '-c', path]);
    assert.equal(code, EXIT.usage);
    assert.equal(out, '');
    const paths = err
      .split('\n')
      .flatMap((line) => /^ {2}\S+bad\.yaml:\d+:\d+ {2}(\S+):/.exec(line)?.[1] ?? []);
    assert.deepEqual(paths, [
      'kafka.brokers',
      'kafka.broker',
      'service.baseUrl',
      'service.apiKey',
      'pipelines[0].source.topic',
      'pipelines[0].name',
      'pipelines[0].batch.maxAge',
    ]);
  });
});

describe('run as a process', TIMEOUT, () => {
  it('exits with 2 and the problems of an invalid configuration before it connects', async () => {
    const { code, out, err } = await runCliProcess(['run', '-c', await file('empty.yaml', '')]);
    assert.equal(code, EXIT.usage);
    assert.equal(out, '');
    assert.match(err, /kafka\.brokers: required/);
  });
});

describe('sandbox as a process', TIMEOUT, () => {
  it('exits with 2 for an invalid or missing policy, and with 1 for a port in use', async () => {
    const missing = await runCliProcess([
      'sandbox',
      '--port',
      '0',
      '--policy',
      join(directory, 'none.yaml'),
    ]);
    assert.equal(missing.code, EXIT.usage);
    assert.match(missing.err, /cannot be read/);
    const { child, ended, said } = startCli(['sandbox', '--port', '0'], {
      SANDBOX_API_KEYS: 'a,b',
    });
    const [, port] = await said(/:(\d+)\n/);
    const taken = await runCliProcess(['sandbox', '--port', String(port)]);
    assert.equal(taken.code, EXIT.failure);
    assert.match(taken.err, /cannot listen on 127\.0\.0\.1:\d+/);
    child.kill('SIGTERM');
    assert.equal((await ended).code, EXIT.ok);
  });
});
