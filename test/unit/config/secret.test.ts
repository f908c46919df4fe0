import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { format, inspect } from 'node:util';
import { inlineSecrets, secretsIn } from '../../../src/config/effective.ts';
import { parseConfig } from '../../../src/config/load.ts';
import { Secret } from '../../../src/config/secret.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { errorOf, MINIMAL, parse } from './problems-of.ts';

let directory: string;
before(() => {
  directory = mkdtempSync(join(tmpdir(), 'secret-'));
});
after(() => rmSync(directory, { recursive: true }));

const withKey = (key: string) => MINIMAL.replace('apiKey: key-1', `apiKey: ${key}`);

describe('a secret', () => {
  it('is not shown, however it is printed', () => {
    const secret = Secret.of('hunter2');
    const lines: string[] = [];
    createLogger({
      level: 'info',
      format: 'json',
      sink: { write: (line) => void lines.push(line) },
    }).info({ secret, nested: { secret } }, `${secret}`);
    const prints = [
      String(secret),
      `${secret}`,
      `${secret}${1}`,
      JSON.stringify({ secret }),
      inspect(secret, { showHidden: true, depth: 9 }),
      inspect({ nested: [secret] }, { depth: 9, getters: true }),
      format('%s %o %j', secret, secret, secret),
      JSON.stringify(structuredClone(secret)),
      Object.entries(secret).join(),
      ...lines,
    ];
    for (const print of prints) assert.doesNotMatch(print, /hunter2/);
    assert.equal(secret.reveal(), 'hunter2');
  });

  it('is not shown when the whole configuration is printed', () => {
    const config = parse(withKey('hunter2'));
    assert.doesNotMatch(
      inspect(config, { depth: 20, showHidden: true }) + JSON.stringify(config),
      /hunter2/,
    );
  });

  it('counts as inline only if the configuration file itself contains its value', () => {
    assert.deepEqual(inlineSecrets(parse(withKey('hunter2'))), ['service.apiKey']);
    for (const key of ['{env: KEY}', `"\${KEY}"`])
      assert.deepEqual(inlineSecrets(parse(withKey(key), { KEY: 'hunter2' })), [], key);
  });

  it('is refused if it is empty or contains a line break', () => {
    assert.throws(() => Secret.of(' '), /it is empty/);
    assert.throws(() => Secret.of('a\nb'), /control character/);
  });
});

describe('a secret in a file', () => {
  it('is read without one trailing line break, and reread when the file changes', async () => {
    const path = join(directory, 'rotated');
    writeFileSync(path, 'first\r\n');
    const secret = Secret.file(path);
    assert.equal(await secret.current(), 'first');
    writeFileSync(join(directory, 'next'), 'second\n');
    renameSync(join(directory, 'next'), path);
    assert.equal(await secret.current(), 'second');
    assert.equal(secret.reveal(), 'second');
  });

  it('keeps its last valid value while the file is missing, empty, or a pipe', async () => {
    const path = join(directory, 'flaky');
    writeFileSync(path, 'good');
    const secret = Secret.file(path);
    writeFileSync(path, '');
    assert.equal(await secret.current(), 'good');
    unlinkSync(path);
    assert.equal(await secret.current(), 'good');
    execFileSync('mkfifo', [path]);
    assert.equal(await secret.current(), 'good');
    unlinkSync(path);
    writeFileSync(path, 'better\n');
    assert.equal(await secret.current(), 'better');
  });

  it('is refused if it is a pipe, which could block', () => {
    const path = join(directory, 'pipe');
    execFileSync('mkfifo', [path]);
    assert.throws(() => Secret.file(path), /not a regular file/);
  });

  it('has a path relative to the configuration file', () => {
    writeFileSync(join(directory, 'key'), 'from-file\n');
    const config = parseConfig(withKey('{file: key}'), {}, { file: 'c.yaml', directory });
    assert.equal(config.service?.apiKey.reveal(), 'from-file');
  });
});

describe('secrets in a configuration', () => {
  it('are listed with the paths of their options, including headers', () => {
    const key = withKey('{env: KEY}, transfer: {uploadHeaders: {x-token: {env: KEY}}}');
    const found = secretsIn(parse(key, { KEY: 'k-2' }));
    assert.deepEqual(
      found.map(([path, secret]) => [path, secret.reveal()]),
      [
        ['service.apiKey', 'k-2'],
        ['service.transfer.uploadHeaders', 'k-2'],
      ],
    );
  });

  it('are read from the environment', () => {
    assert.equal(parse(withKey('{env: KEY}'), { KEY: 'k-2' }).service?.apiKey.reveal(), 'k-2');
  });

  for (const [what, key, env, pattern] of [
    ['a missing variable', '{env: KEY}', {}, /the environment variable KEY is not set/],
    ['an empty variable', '{env: KEY}', { KEY: '' }, /the environment variable KEY: it is empty/],
    ['a variable with a line break', '{env: KEY}', { KEY: 'hunter2\nx' }, /line break/],
    [
      'a missing file',
      '{file: /nowhere/key}',
      {},
      /the file \/nowhere\/key: no such file or directory/,
    ],
    ['a directory', '{file: /}', {}, /the path is a directory/],
    ['a misspelled key', '{fil: hunter2}', {}, /exactly one of env and file/],
    ['two sources', '{file: hunter2, env: hunter2}', {}, /exactly one of env and file/],
    ['a number', '12345678', {}, /this secret cannot be used/],
    ['a list', '[hunter2]', {}, /this secret cannot be used/],
  ] as const) {
    it(`are refused for ${what}, without being shown`, () => {
      const { message } = errorOf(withKey(key), env);
      assert.match(message, pattern);
      assert.doesNotMatch(message, /hunter2|12345678/);
    });
  }

  it('are not shown if they are under a wrong name, in an address, or next to a YAML error', () => {
    assert.doesNotMatch(errorOf(withKey('k, apikey: hunter2')).message, /hunter2/);
    assert.doesNotMatch(
      errorOf(MINIMAL.replace('https://', 'https://user:hunter2@')).message,
      /hunter2/,
    );
    assert.doesNotMatch(errorOf(withKey('"hunter2')).message, /hunter2/);
    assert.doesNotMatch(errorOf(withKey('hunter2: x')).message, /hunter2/);
  });
});
