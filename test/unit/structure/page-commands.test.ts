/** Checks that the commands of the pages exist, even those that no test runs. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import type { Command } from 'commander';
import { parse } from 'yaml';
import { createProgram } from '../../../src/cli/program.ts';
import { PAGES, ROOT, stepsOfPage } from '../../support/docs/pages.ts';
import { commandsIn } from '../../support/docs/shell-words.ts';
import { unmarkedCommands } from '../../support/docs/steps.ts';

const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8');

const COMMANDS = PAGES.flatMap((page) =>
  stepsOfPage(page).flatMap(({ kind, line, text }) =>
    kind === 'file' ? [] : commandsIn(text).map((words) => ({ where: `${page}:${line}`, words })),
  ),
);

/** Returns the arguments of a connector command, or undefined for another command. */
function connectorArguments(words: readonly string[]): readonly string[] | undefined {
  const [first, second, third] = words;
  // A line with only this word defines a shell function of that name (docs/tools.md), and is not a command.
  if (first === 'content-review-connector') return second === undefined ? second : words.slice(1);
  if (first === 'npx' && second === 'content-review-connector') return words.slice(2);
  if (first === 'npm' && second === 'start') return words.slice(third === '--' ? 3 : 2);
  // `crc` is a shell function of the runbook.
  if (first === 'crc' && second !== undefined)
    return [...words.slice(1), '--config', 'config.yaml'];
  const main = words.findIndex(
    (word) => word.endsWith('cli/main.js') || word.endsWith('cli/main.ts'),
  );
  return main < 0 || words.includes('$@') ? undefined : words.slice(main + 1);
}

/** Parses arguments without running the command. Returns the error, or undefined. */
function usageError(args: readonly string[]): string | undefined {
  let message = '';
  const write = (text: string) => {
    message += text;
  };
  const outlet = { env: {}, program: '', outIsTerminal: false, errColumns: () => undefined };
  const program = createProgram({
    ...outlet,
    out: write,
    err: write,
    data: async () => true,
    finish: () => {},
  });
  disarm(program);
  try {
    program.parse(args, { from: 'user' });
    return undefined;
  } catch (error) {
    return message === '' ? String(error) : message.split('\n', 1)[0];
  }
}

function disarm(command: Command): void {
  for (const one of command.commands) {
    if (one.commands.length === 0) one.action(() => {});
    disarm(one);
  }
}

test('every command of a page is in a block marked as sh', () => {
  const unmarked = PAGES.flatMap((page) =>
    unmarkedCommands(read(page)).map((line) => `${page}:${line}`),
  );
  assert.deepEqual(unmarked, []);
});

test('every connector command of a page has an existing subcommand and existing options', () => {
  const wrong: string[] = [];
  let checked = 0;
  for (const { where, words } of COMMANDS) {
    const args = connectorArguments(words);
    if (args === undefined) continue;
    checked += 1;
    const error = usageError(args);
    if (error !== undefined) wrong.push(`${where}: ${words.join(' ')}: ${error}`);
  }
  assert.deepEqual(wrong, []);
  assert.ok(checked > 20, `only ${checked} commands`);
});

test('every npm script of a page exists', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const missing = COMMANDS.flatMap(({ where, words: [first, second, ...more] }) => {
    if (first !== 'npm' || (second !== 'run' && second !== 'test')) return [];
    const name = second === 'test' ? second : more.find((word) => !word.startsWith('-'));
    return name !== undefined && name in scripts ? [] : [`${where}: npm ${second} ${name}`];
  });
  assert.deepEqual(missing, []);
});

test('every value that a page sets with helm --set is in values.yaml', () => {
  const values: unknown = parse(read('helm/content-review-connector/values.yaml'));
  const missing = COMMANDS.flatMap(({ where, words }) =>
    words.flatMap((word, index) => {
      if (words[0] !== 'helm' || !/^--set(?:-string|-file|-json)?$/.test(words[index - 1] ?? ''))
        return [];
      const [name = ''] = word.split('=');
      return isIn(values, name.split('.')) ? [] : [`${where}: --set ${name}`];
    }),
  );
  assert.deepEqual(missing, []);
});

/** Returns true if a path exists or is within a free-form value, such as `config: {}`. */
function isIn(values: unknown, [name, ...more]: readonly string[]): boolean {
  if (name === undefined) return true;
  if (typeof values !== 'object' || values === null) return false;
  const entries = Object.entries(values);
  return entries.length === 0 || entries.some(([key, value]) => key === name && isIn(value, more));
}
