/** Importing the package must not load the connector: a caller who wants the client gets the client. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import test from 'node:test';
import { promisify } from 'node:util';

const ROOT = new URL('../../../../../', import.meta.url);

/** Every module that a process loads, also through require, when it imports `file`. */
async function loadedBy(file: string): Promise<readonly string[]> {
  const script = `
    import { registerHooks } from 'node:module';
    const loaded = [];
    registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
    await import(${JSON.stringify(new URL(file, ROOT).href)});
    process.stdout.write(loaded.join('\\n'));
  `;
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--input-type=module',
    '--eval',
    script,
  ]);
  return stdout.split('\n');
}

test('the library loads nothing of the connector, and no Kafka', async () => {
  const loaded = await loadedBy('packages/client/src/index.ts');
  assert.ok(loaded.some((url) => url.endsWith('/packages/client/src/client.ts')));
  const foreign =
    /node_modules\/(kafkajs|prom-client|pino|commander)\/|(?<!packages\/client|node_modules\/.*)\/src\//;
  assert.deepEqual(
    loaded.filter((url) => foreign.test(url)),
    [],
  );
});

test('the check finds a module that loads Kafka', async () => {
  assert.ok(
    (await loadedBy('src/kafka/index.ts')).some((url) => url.includes('/node_modules/kafkajs/')),
  );
});
