/** Importing the package must not load the connector: a caller who wants the client gets the client. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { promisify } from 'node:util';

const SOURCE = new URL('../../../src/', import.meta.url);

/** Every module that a process loads, also through require, when it imports `file`. */
async function loadedBy(file: string): Promise<readonly string[]> {
  const script = `
    import { registerHooks } from 'node:module';
    const loaded = [];
    registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
    await import(${JSON.stringify(new URL(file, SOURCE).href)});
    process.stdout.write(loaded.join('\\n'));
  `;
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--input-type=module',
    '--eval',
    script,
  ]);
  return stdout.split('\n');
}

test('the main entry loads neither Kafka nor the rest of the connector', async () => {
  const loaded = await loadedBy('client/index.ts');
  assert.ok(loaded.some((url) => url.endsWith('/src/client/client.ts')));
  const foreign =
    /kafkajs|prom-client|pino|commander|\/src\/(?!client\/|service\/|http\/|kinds\/review\/|events\/|core\/|base\/)/;
  assert.deepEqual(
    loaded.filter((url) => foreign.test(url)),
    [],
  );
});

test('the check finds a module that loads Kafka', async () => {
  assert.ok(
    (await loadedBy('kafka/index.ts')).some((url) => url.includes('/node_modules/kafkajs/')),
  );
});

test('the package names the client library as its main entry, with its types', () => {
  const { exports, types } = JSON.parse(readFileSync(new URL('../package.json', SOURCE), 'utf8'));
  assert.deepEqual(exports['.'], {
    types: './dist/client/index.d.ts',
    default: './dist/client/index.js',
  });
  assert.equal(types, exports['.'].types);
});
