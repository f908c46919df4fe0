/** The completion script, in a real shell. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { runCli } from '../../../src/cli/program.ts';

const SCRIPT = await printed('completion', 'bash');

async function printed(...args: string[]): Promise<string> {
  const lines: string[] = [];
  const out = (text: string) => void lines.push(text);
  assert.equal(await runCli(args, { env: {}, out, err: out }), 0);
  return lines.join('');
}

/** Returns the words that bash offers for the last one of a command line. */
function offered(...words: string[]): string[] {
  const program = `eval "$SCRIPT"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
    _content_review_connector; printf '%s\n' "\${COMPREPLY[@]}"`;
  const out = execFileSync(
    'bash',
    ['--norc', '-uc', program, 'bash', 'content-review-connector', ...words],
    { env: { ...process.env, SCRIPT }, encoding: 'utf8' },
  );
  return out.split('\n').filter((word) => word !== '');
}

describe('completion in bash', () => {
  it('offers the commands', () => {
    const commands = offered('');
    for (const command of ['run', 'check', 'dead-letters', 'sandbox', 'completion', '--version'])
      assert.ok(commands.includes(command), command);
    assert.deepEqual(offered('chec'), ['check']);
  });

  it('offers subcommands and options of the command that is written, wherever options stand', () => {
    assert.deepEqual(offered('dead-letters', 're'), ['replay']);
    assert.deepEqual(offered('check', '--sam'), ['--sample']);
    assert.deepEqual(offered('check', '--quiet', '--sam'), ['--sample']);
    assert.deepEqual(offered('run', '--sam'), []);
  });

  it('leaves the value of an option to file names, unless its values are fixed', () => {
    assert.deepEqual(offered('run', '--config', ''), []);
    assert.deepEqual(offered('run', '-c', ''), []);
    assert.deepEqual(offered('completion', 'b'), ['bash']);
  });

  it('offers no shell that it has no script for', async () => {
    const lines: string[] = [];
    const out = (text: string) => void lines.push(text);
    assert.equal(await runCli(['completion', 'tcsh'], { env: {}, out, err: out }), 2);
    assert.match(lines.join(''), /Allowed choices are bash, zsh/);
  });
});
