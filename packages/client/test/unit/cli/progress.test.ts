import assert from 'node:assert/strict';
import { it } from 'node:test';
import { CommandProgress } from '../../../src/cli/progress.ts';

it('progress is a line every ten seconds, and nothing for a short command', () => {
  const said: string[] = [];
  let nowMs = 0;
  const progress = new CommandProgress({ err: (text) => void said.push(text) }, () => nowMs);
  for (let second = 0; second <= 60; second++) {
    nowMs = second * 1_000;
    progress.show(() => `after ${second} s\u001b[2J`);
    if (second === 5) progress.note('checked');
  }
  assert.deepEqual(said, [
    'checked\n',
    ...[15, 25, 35, 45, 55].map((second) => `after ${second} s\\u001b[2J\n`),
  ]);
});
