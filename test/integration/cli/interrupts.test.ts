/** Signals and pipes, with each command in its own process. */
import assert from 'node:assert/strict';
import { type ChildProcess, exec } from 'node:child_process';
import path from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { EXIT } from '../../../packages/client/src/cli/exit-codes.ts';
import { eventually } from '../../support/eventually.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { ROOT, startCli } from './cli-process.ts';
import { bench } from './service-commands.ts';

const DIRECTORY = temporaryDirectory();
let benches = 0;

const CSV = 'Content,author\nBuy now,u-7\nGood morning,u-8\n';

async function stage(t: TestContext) {
  const service = await bench(t, path.join(DIRECTORY, String(++benches)));
  const start = (args: readonly string[], stdin?: 'pipe') =>
    startCli([...args, '--config', service.config], {}, stdin);
  return { service, start };
}

/** Runs the command at the end of a message in a shell. */
async function runPrinted(err: string): Promise<{ stdout: string; stderr: string }> {
  const command = err.trimEnd().split('\n').at(-1) ?? '';
  return await promisify(exec)(command, { cwd: ROOT, env: { PATH: process.env.PATH } });
}

describe('SIGUSR1', { timeout: 600_000 }, () => {
  it('does not open an inspector, which could read the key', async (t) => {
    const { service, start } = await stage(t);
    const { child, ended } = start(['batch', 'submit', '-', '-t', 'post'], 'pipe');
    await written(child);
    child.kill('SIGUSR1');
    child.stdin?.end();
    const { code, err } = await ended;
    assert.equal(code, 0, err);
    assert.doesNotMatch(err, /Debugger|ws:/);
    assert.equal(service.sandbox.batches().length, 1);
  });
});

describe('Ctrl-C', { timeout: 600_000 }, () => {
  it('during a wait prints a working command to continue', async (t) => {
    const { service, start } = await stage(t);
    service.faults({ operation: 'get_batch', action: 'state', state: 'PENDING', times: 'always' });
    const { child, ended, told } = start([
      'batch',
      'submit',
      service.file('posts.csv', CSV),
      '-t',
      'post',
      '--wait',
    ]);
    await told(/uploaded/);
    await eventually('it waits', () => (service.sandbox.faults.entries()[0]?.fired ?? 0) > 0);
    child.kill('SIGINT');
    const { code, out, err } = await ended;
    assert.deepEqual([code, out], [EXIT.interrupted, '']);
    assert.match(
      err,
      /Interrupted\. The service continues with batch \S{36}\.\nTo continue:\n {2}node src\/cli\/main\.ts batch get \S{36} --wait --config '?\S+service\.yaml'?\n$/,
    );
    service.faults();
    assert.match((await runPrinted(err)).stdout, /status {3}SUCCESS/);
    assert.equal(service.sandbox.batches().length, 1);
  });

  it('during the download ends it, even when repeated', async (t) => {
    const interrupted = async (...signals: readonly NodeJS.Signals[]) => {
      const { service, start } = await stage(t);
      const file = service.file('posts.csv', `${CSV}${'x'.repeat(100_000)},u-9\n`);
      const { out } = await service.run('batch', 'submit', file, '-t', 'post');
      service.faults({ operation: 'download', action: 'slow', bytesPerSecond: 1_000 });
      const { child, ended } = start(['batch', 'results', out.trim(), '--wait']);
      await eventually('it downloads', () => service.sandbox.faults.entries()[0]?.fired === 1);
      for (const signal of signals) child.kill(signal);
      assert.equal((await ended).code, EXIT.interrupted);
    };
    await Promise.all([
      interrupted('SIGINT'),
      interrupted('SIGINT', 'SIGINT'),
      interrupted('SIGTERM'),
    ]);
    // SIGHUP is the signal of a closed terminal.
    await interrupted('SIGHUP');
  });
});

/** Resolves when the command reads, because more is written than a pipe can buffer. */
const written = ({ stdin }: ChildProcess): Promise<unknown> =>
  new Promise((resolve) => stdin?.write(`${CSV}${'Good evening,u-9\n'.repeat(60_000)}`, resolve));
