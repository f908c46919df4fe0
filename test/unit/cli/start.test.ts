import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { EXIT, EXIT_MEANINGS, exitCodeTable } from '../../../packages/client/src/cli/exit-codes.ts';
import { nodeVersionProblem } from '../../../src/cli/node-version.ts';
import { runCli } from '../../../src/cli/program.ts';

const ROOT = new URL('../../../', import.meta.url);

describe('the version of Node', () => {
  it('is accepted if it is 24 or later', () => {
    for (const version of ['24.0.0', '24.1.1', '26.10.0', '100.0.0'])
      assert.equal(nodeVersionProblem(version), undefined);
  });

  it('is refused if it is older, with the remedy', () => {
    for (const version of ['23.11.9', '22.19.0', '20.20.2', '18.0.0']) {
      assert.match(
        nodeVersionProblem(version) ?? '',
        new RegExp(`needs Node\\.js 24\\.0 or newer; this is ${version.replaceAll('.', '\\.')}`),
      );
    }
  });

  it('has the same minimum as package.json', async () => {
    const { engines } = JSON.parse(await readFile(new URL('package.json', ROOT), 'utf8'));
    assert.equal(engines.node, '>=24');
  });

  it('is checked before other modules load: the entry point statically imports only a module without imports', async () => {
    const imports = async (path: string) =>
      [...(await readFile(new URL(path, ROOT), 'utf8')).matchAll(/^import .* from '(.*)';$/gm)].map(
        ([, from]) => from,
      );
    assert.deepEqual(await imports('src/cli/main.ts'), ['./node-version.ts']);
    assert.deepEqual(await imports('src/cli/node-version.ts'), []);
  });
});

describe('exit codes', () => {
  it('have the values that scripts rely on', () => {
    assert.deepEqual(EXIT, {
      ok: 0,
      failure: 1,
      usage: 2,
      unreachable: 3,
      refused: 4,
      problems: 5,
      unfinished: 6,
      interrupted: 130,
    });
  });

  it('are distinct and all explained', () => {
    const codes = Object.values(EXIT);
    assert.equal(new Set(codes).size, codes.length);
    assert.deepEqual(Object.keys(EXIT_MEANINGS), Object.keys(EXIT));
    for (const code of codes) assert.match(exitCodeTable(), new RegExp(`^ {2}${code} `, 'm'));
  });
});

describe('the warning of kafkajs', () => {
  const quiet = fileURLToPath(new URL('src/cli/program.ts', ROOT));
  const warningsFrom = (filename: string, code: string) => {
    const script = `
      const { quietKafkajs } = await import(${JSON.stringify(quiet)});
      const { runInThisContext } = await import('node:vm');
      quietKafkajs();
      runInThisContext(${JSON.stringify(code)}, { filename: ${JSON.stringify(filename)} });
    `;
    return spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' })
      .stderr;
  };

  it('about negative timers is hidden, and other warnings are not', () => {
    const inside = '/x/node_modules/kafkajs/src/a.js';
    assert.equal(warningsFrom(inside, 'setTimeout(() => {}, -1)'), '');
    assert.match(
      warningsFrom('/x/kafkajs-tools.js', 'setTimeout(() => {}, -1)'),
      /TimeoutNegativeWarning/,
    );
    assert.match(warningsFrom(inside, 'setTimeout(() => {}, NaN)'), /TimeoutNaNWarning/);
    assert.match(
      warningsFrom(inside, "process.emitWarning('something', 'CustomWarning', 'C1')"),
      /\[C1\] CustomWarning: something/,
    );
  });
});

describe('a command that fails', () => {
  it('reveals no secret', async () => {
    const said: string[] = [];
    const io = { env: {}, out: () => {}, err: (text: string) => void said.push(text) };
    const code = await runCli(['sandbox', '--port', '0', '--host', 'x?signature=hunter2'], io);
    const err = said.join('');
    assert.equal(code, EXIT.failure);
    assert.doesNotMatch(err, /hunter2/);
    assert.match(err, /cannot listen on x/);
  });
});
