import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { appendFile, cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const repository = fileURLToPath(new URL('../../../../', import.meta.url));
const run = promisify(execFile);

describe('the installed kafkajs', () => {
  const root = temporaryDirectory();
  const installed = (file: string) => path.join(root, 'node_modules/kafkajs', file);

  /** Loads kafkajs from a copy of the connector's sources. Returns exit code and stderr of the process. */
  async function loading(): Promise<{ readonly code: number; readonly stderr: string }> {
    return await run(process.execPath, [path.join(root, 'src/kafka/kafkajs/patches.ts')]).then(
      ({ stderr }) => ({ code: 0, stderr }),
      (error: { code: number; stderr: string }) => error,
    );
  }

  before(async () => {
    await cp(path.join(repository, 'src/kafka'), path.join(root, 'src/kafka'), { recursive: true });
    await cp(path.join(repository, 'src/core'), path.join(root, 'src/core'), { recursive: true });
    const client = 'packages/client/src';
    await cp(path.join(repository, client), path.join(root, client), { recursive: true });
    await writeFile(path.join(root, 'package.json'), '{"type":"module"}');
    await mkdir(path.join(root, 'node_modules'));
    await cp(path.join(repository, 'node_modules/kafkajs'), installed(''), { recursive: true });
  });

  it('is loaded if it is the patched version', async () => {
    assert.deepEqual(await loading(), { code: 0, stderr: '' });
  });

  it('is refused with its version and the remedy if it is another version', async () => {
    const manifest = await readFile(installed('package.json'), 'utf8');
    await writeFile(
      installed('package.json'),
      manifest.replace('"version": "2.2.4"', '"version": "2.2.5"'),
    );
    const { code, stderr } = await loading();
    await writeFile(installed('package.json'), manifest);
    assert.equal(code, 1);
    assert.match(
      stderr,
      /Error: kafkajs 2\.2\.5 .* is installed in .*, but .* works only with the unchanged 2\.2\.4.*`npm ci`/,
    );
  });

  for (const file of [
    'consumer/consumerGroup.js',
    'retry/index.js',
    'protocol/requests/metadata/v0/response.js',
  ]) {
    it(`is refused with the remedy if ${file} was changed`, async () => {
      const original = await readFile(installed(`src/${file}`));
      await appendFile(installed(`src/${file}`), '\n');
      const { code, stderr } = await loading();
      await writeFile(installed(`src/${file}`), original);
      assert.equal(code, 1);
      const [message = ''] = stderr.match(/Error: .*/) ?? [];
      assert.match(
        message,
        /kafkajs 2\.2\.4 \(SHA-256 [0-9a-f]{64}\) is installed in .*, but .* unchanged 2\.2\.4.*`npm ci`/,
      );
    });
  }

  it('is pinned to the patched version in package.json and the lock file', async () => {
    const { PATCHED_VERSION } = await import('../../../../src/kafka/kafkajs/internals.ts');
    const json = async (file: string) =>
      JSON.parse(await readFile(path.join(repository, file), 'utf8'));
    const lock = await json('package-lock.json');
    assert.equal((await json('package.json')).dependencies.kafkajs, PATCHED_VERSION);
    assert.equal(lock.packages[''].dependencies.kafkajs, PATCHED_VERSION);
    assert.equal(lock.packages['node_modules/kafkajs'].version, PATCHED_VERSION);
  });
});
