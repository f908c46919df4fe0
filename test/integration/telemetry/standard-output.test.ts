/** A reader that stops reading the connector's log must not stop the connector. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { after, test } from 'node:test';

const LOGGER = new URL('../../../src/telemetry/logger.ts', import.meta.url).href;

/** Starts a process that runs this code with a logger, and reports its progress on standard error. */
function logging(body: string): ChildProcess {
  const program = `
    import { createLogger } from ${JSON.stringify(LOGGER)};
    let dropped = 0;
    const logger = createLogger({ level: 'info', format: 'json', onDropped: (lines) => { dropped += lines; } });
    const say = (text) => process.stderr.write(text + '\\n');
    ${body}`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  after(() => child.kill('SIGKILL'));
  return child;
}

test('while the reader stops, lines are buffered, then dropped and counted, and written again when it continues', async () => {
  const child = logging(`
    const text = 'x'.repeat(1000);
    let lines = 0;
    const timer = setInterval(() => {
      for (let i = 0; i < 200; i++) logger.info({ n: lines++, text }, 'line');
      if (dropped > 0) { clearInterval(timer); say('dropped ' + dropped + ' of ' + lines); }
    }, 5);
    process.stdin.once('data', () => { logger.info({}, 'last'); process.stdin.destroy(); });`);
  const told = createInterface({ input: child.stderr as NodeJS.ReadableStream });
  const [verdict] = (await once(told, 'line')) as [string];
  const [, dropped, lines] = (/dropped (\d+) of (\d+)/.exec(verdict) ?? []).map(Number);
  assert.ok(
    (dropped as number) > 0 && (lines as number) - (dropped as number) > 900,
    `${verdict}: a MiB of lines must be buffered before any is dropped`,
  );

  const read: string[] = [];
  const reader = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  reader.on('line', (line) => read.push(line));
  while (read.length < (lines as number) - (dropped as number)) await once(reader, 'line');
  child.stdin?.write('go\n');
  await once(reader, 'close');
  const parsed = read.map((line) => JSON.parse(line) as { n?: number; msg: string });
  assert.deepEqual(
    parsed.slice(0, -1).map(({ n }) => n),
    Array.from({ length: parsed.length - 1 }, (_, n) => n),
    'complete lines in order, without gaps before the first dropped line',
  );
  assert.equal(parsed.at(-1)?.msg, 'last');
});
