import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { commandLine } from '../../../src/cli/flags.ts';
import type { Io } from '../../../src/cli/io.ts';
import { CommandProgress } from '../../../src/cli/progress.ts';

/** An outlet that records its output, on the test's own clock. */
function stage(columns: number | undefined) {
  const said: string[] = [];
  const clock = { ms: 0 };
  const io: Io = {
    env: {},
    program: 'crc',
    outIsTerminal: false,
    errColumns: () => columns,
    out: () => {},
    err: (text) => void said.push(text),
    data: async () => true,
    finish: () => {},
  };
  return { said, clock, io, progress: new CommandProgress(io, () => clock.ms) };
}

describe('progress', () => {
  it('at a terminal is one line that is overwritten and never longer than the terminal is wide', () => {
    const { said, clock, progress } = stage(20);
    for (const text of ['too soon', 'too soon', `${'x'.repeat(30)}\u001b[2J`]) {
      progress.show(() => text);
      clock.ms += 60;
    }
    progress.note('done');
    progress.clear();
    assert.deepEqual(said, [`\r\u001b[K${'x'.repeat(18)}…`, '\r\u001b[K', 'done\n']);
  });

  it('elsewhere is a line every ten seconds, and nothing for a short command', () => {
    const { said, clock, progress } = stage(undefined);
    for (let second = 0; second <= 60; second++) {
      clock.ms = second * 1_000;
      progress.show(() => `after ${second} s`);
      if (second === 5) progress.note('checked');
    }
    assert.deepEqual(said, [
      'checked\n',
      'after 15 s\n',
      'after 25 s\n',
      'after 35 s\n',
      'after 45 s\n',
      'after 55 s\n',
    ]);
  });
});

describe('the command to continue with', () => {
  it('has the options of the connection, quoted for a shell, and no key', () => {
    const { io } = stage(undefined);
    const flags = { config: "it's.yaml" };
    assert.equal(
      commandLine(io, ['batch', 'get', 'id 1', '--wait', undefined], flags),
      `crc batch get 'id 1' --wait --config 'it'\\''s.yaml'`,
    );
    assert.equal(
      commandLine(io, ['batch', 'get', '$(x)'], { config: 'c' }),
      "crc batch get '$(x)' --config c",
    );
    assert.equal(
      commandLine(io, ['batch', 'get', '-V1St', '--wait'], { config: 'c' }),
      'crc batch get --wait --config c -- -V1St',
    );
  });

  it('has no control characters, and the same meaning in a shell', () => {
    const { io } = stage(undefined);
    const id = `a\u001b]0;b\u0007'\n\\x41 \u202e`;
    const line = commandLine({ ...io, program: 'printf %s' }, ['', '', id], { config: 'c' });
    assert.match(line, /^[ -~]+$/);
    assert.equal(execFileSync('bash', ['-c', line], { encoding: 'utf8' }), `${id}--configc`);
  });
});
