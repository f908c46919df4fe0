import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Io } from '../../../src/cli/io.ts';
import { CommandProgress } from '../../../src/cli/progress.ts';

/** Creates an outlet that records its output, with a clock that the test controls. */
function stage(columns: number | undefined) {
  const said: string[] = [];
  const clock = { ms: 0 };
  const io: Io = {
    env: {},
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
  it('at a terminal is one line that is overwritten and never wider than the terminal', () => {
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
