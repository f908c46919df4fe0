/** Signals and pipes, tested with commands in their own processes. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { EXIT } from '../../../packages/client/src/cli/exit-codes.ts';
import { eventually } from '../../support/eventually.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { startCli } from './cli-process.ts';
import { bench } from './service-commands.ts';

const DIRECTORY = temporaryDirectory();
let benches = 0;

const CSV = 'Content,author\nBuy now,u-7\nGood morning,u-8\n';

async function stage(t: TestContext) {
  const service = await bench(t, path.join(DIRECTORY, String(++benches)));
  const start = (args: readonly string[]) => startCli([...args, '--config', service.config]);
  return { service, start };
}

describe('SIGUSR1', { timeout: 600_000 }, () => {
  it('opens no inspector, in which the key could be read, whatever the command', async (t) => {
    const { service, start } = await stage(t);
    service.faults({ operation: 'get_batch', action: 'answer', status: 404, times: 2 });
    const file = service.file('posts.csv', CSV);
    const { child, ended, told } = start(['batch', 'submit', file, '-t', 'post', '--wait']);
    await told(/created/);
    child.kill('SIGUSR1');
    const { code, err } = await ended;
    assert.equal(code, EXIT.ok, err);
    assert.doesNotMatch(err, /Debugger|ws:/);
  });
});

describe('Ctrl-C', { timeout: 600_000 }, () => {
  it('while waiting leaves the batch at the service, and names it', async (t) => {
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
      /Interrupted\.\nbatch \S{36} has received its file: do not submit it again\.\n$/,
    );
    assert.equal(service.sandbox.batches().length, 1);
  });

  it('during the download ends the command, even when repeated', async (t) => {
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
    // SIGHUP is the signal that a process gets when its terminal is closed.
    await interrupted('SIGHUP');
  });
});

describe('pipes', { timeout: 600_000 }, () => {
  it('whose reader goes away end the download without an error', async (t) => {
    const { service, start } = await stage(t);
    const file = service.file('posts.csv', `Content\n${'a row that is not short\n'.repeat(8_000)}`);
    const { out } = await service.run('batch', 'submit', file, '-t', 'post', '--wait');
    const { child, ended } = start(['batch', 'results', JSON.parse(out).batchId]);
    child.stdout?.once('data', () => child.stdout?.destroy());
    const { code, err } = await ended;
    assert.deepEqual([code, err], [EXIT.ok, '']);
  });
});
