/** External strings in the error messages of commands cannot control the terminal. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { runCli } from '../../../../../src/cli/program.ts';
import { temporaryDirectory } from '../../../../../test/support/temporary-directory.ts';

const HOSTILE = 'a\u001b[2Jb\u009bc\u202ed\u2028e';
const ESCAPED = String.raw`a\u001b[2Jb\u009bc\u202ed\u2028e`;

async function errOf(args: readonly string[]): Promise<string> {
  let text = '';
  const code = await runCli(args, {
    env: {},
    out: () => undefined,
    err: (more) => {
      text += more;
    },
  });
  assert.notEqual(code, 0);
  return text;
}

test('names, values and keys that a failure quotes are escaped, line by line', async () => {
  const file = path.join(temporaryDirectory(), 'wrong.yaml');
  const right = path.join(temporaryDirectory(), 'right.yaml');
  writeFileSync(
    right,
    'kafka: {brokers: "b:1"}\nservice: {baseUrl: "https://a"}\npipelines: [{name: p, source: {topic: t}}]\n',
  );
  writeFileSync(file, JSON.stringify({ [HOSTILE]: 1, log: { level: HOSTILE }, other: 2 }));
  for (const args of [
    [HOSTILE],
    ['check', '--config', file, `--${HOSTILE}`],
    ['check', '--config', `${HOSTILE}.yaml`],
    ['check', '--config', file],
    ['sandbox', '--port', HOSTILE],
    ['check', '--config', right, '--sample', `${HOSTILE}.json`],
    ['explain', HOSTILE, '--config', file],
  ]) {
    const text = await errOf(args);
    assert.ok(text.includes(ESCAPED), text);
    assert.doesNotMatch(text.replaceAll('\n', ''), /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
  }
  assert.match(await errOf(['check', '--config', file]), /problems:\n {2}.*\n/);
});
