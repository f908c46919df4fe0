/** The convention that makes a page the input of a test. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { blocksOf } from '../../support/docs/blocks.ts';
import { isAsShown, isShownIn, withoutBanners } from '../../support/docs/output.ts';
import { commandsIn } from '../../support/docs/shell-words.ts';
import { stepsOf, unmarkedCommands } from '../../support/docs/steps.ts';

const page = (...lines: readonly string[]) => lines.join('\n');
const prose = fc.stringMatching(/^[A-Za-z ,.|#`]{0,30}$/).filter((line) => !/^ *```/.test(line));
const info = fc.stringMatching(/^[a-z]{0,5}( [a-z=.0-9]{1,8}){0,2}$/);
const fence = fc.constantFrom('```', '````', '~~~', '~~~~~');

test('blocks are found wherever they are, with their content to the letter', () => {
  const block = fc.record({
    info,
    fence,
    indent: fc.nat(6),
    before: fc.array(prose, { maxLength: 3 }),
    // A shorter fence, or one of the other kind, is content.
    lines: fc.array(fc.oneof(prose, fc.constantFrom('``', '~~', '', '  indented')), {
      maxLength: 4,
    }),
  });
  fc.assert(
    fc.property(fc.array(block, { maxLength: 4 }), fc.boolean(), (blocks, isClosed) => {
      const lines = blocks.flatMap(({ before, indent, ...one }, index) => {
        const blanks = ' '.repeat(indent);
        const inner = one.lines.map((line) => blanks + line);
        const end = isClosed || index < blocks.length - 1 ? [blanks + one.fence] : [];
        return [...before, `${blanks}${one.fence}${one.info}`, ...inner, ...end];
      });
      assert.deepEqual(
        blocksOf(lines.join('\n')).map(({ language, words, text }) => ({ language, words, text })),
        blocks.map(({ info, lines }) => {
          const [language = '', ...words] = info.trim().split(/\s+/);
          return { language, words, text: lines.map((line) => `${line}\n`).join('') };
        }),
      );
    }),
  );
});

test('any text is a page: its blocks are lines of it, in order', () => {
  const any = fc.array(fc.oneof(fc.string(), fc.constantFrom('```', '~~~', '```sh', '  ````')));
  fc.assert(
    fc.property(any, (pieces) => {
      const text = pieces.join('\n');
      const count = text.split('\n').length;
      const lines = blocksOf(text).map(({ line }) => line);
      assert.deepEqual(
        lines,
        lines.toSorted((a, b) => a - b),
      );
      assert.ok(lines.every((line) => line >= 1 && line <= count));
      assert.ok(unmarkedCommands(text).every((line) => lines.includes(line)));
    }),
  );
});

test('a block is run, kept running, only checked, or written to a file', () => {
  const steps = stepsOf(
    page('```sh', 'a', '```', '', '```text', 'shown', '```', '```sh exit=4', 'b', '```').concat(
      page('', '```sh background', 'c', '```', 'Prose.', '```text', 'no output', '```', ''),
      page(
        '```sh elsewhere',
        'd',
        '```',
        '```yaml dir/a.yaml',
        'e: 1',
        '```',
        '```json',
        '{}',
        '```',
      ),
    ),
  );
  assert.deepEqual(steps, [
    { line: 1, text: 'a\n', kind: 'run', exit: 0, output: 'shown\n' },
    { line: 8, text: 'b\n', kind: 'run', exit: 4, output: undefined },
    { line: 11, text: 'c\n', kind: 'background', output: undefined },
    { line: 18, text: 'd\n', kind: 'elsewhere' },
    { line: 21, text: 'e: 1\n', kind: 'file', name: 'dir/a.yaml' },
  ]);
});

test('marks that the convention does not know are refused with their line', () => {
  for (const mark of [
    'sh exit',
    'sh exit=4 background',
    'sh later',
    'yaml ../a.yaml',
    'yaml /a.yaml',
    'ts a b',
  ])
    assert.throws(() => stepsOf(page('Text', `\`\`\`${mark}`, '```')), {
      message: new RegExp(`^line 2: "${mark}"`),
    });
});

test('a command in a block without sh is found, also after a prompt and after variables', () => {
  for (const command of ['npm ci', '$ ls -l', 'A=1 B= npm start -- run', 'kafka-topics.sh --list'])
    for (const mark of ['', 'text', 'bash'])
      assert.deepEqual(
        unmarkedCommands(page(`\`\`\`${mark}`, 'first', command, '```')),
        [1],
        command,
      );
  assert.deepEqual(
    unmarkedCommands(page('```sh', 'npm ci', '```', '```text', '  npm ci', '```')),
    [],
  );
});

test('output is as shown where … stands for any text of a line, or for any lines', () => {
  assert.ok(isAsShown('a 1.5 s\nb\n', 'a … s\nb\n'));
  assert.ok(isAsShown('\na\nb\nc\n\n', 'a  \n…\nc'));
  assert.ok(isAsShown('a\n', 'a\n…\n'));
  assert.ok(!isAsShown('a\nb\n', 'a\n'));
  assert.ok(!isAsShown('b\na\n', 'a\n'));
  assert.ok(!isAsShown('a\nb\n', 'a…'));
  assert.ok(isShownIn('x\nready at 1\ny', 'ready at …'));
  assert.ok(!isShownIn('not ready at 1', 'ready at …'));
  const text = fc
    .array(fc.stringMatching(/^[ -~]{0,12}$/), { minLength: 1 })
    .map((all) => all.join('\n'));
  fc.assert(
    fc.property(text, (shown) => isAsShown(shown, shown) && isShownIn(`x\n${shown}\n`, shown)),
  );
  fc.assert(
    fc.property(text, text, (before, after) =>
      isAsShown(`${before}\n!\n${after}`, `${before}\n…\n${after}`),
    ),
  );
});

test('the lines that npm prints before a script are no output of the script', () => {
  const banner = '\n> content-review-connector@0.1.0 start\n> node src/cli/main.ts run\n\n';
  assert.equal(withoutBanners(`${banner}a\n${banner}b\n`), 'a\nb\n');
});

test('commands are found in scripts with quotes, comments, pipes, substitutions and here documents', () => {
  assert.deepEqual(
    commandsIn(
      page(
        'A=1 npm start -- run \\',
        "  --config 'a b.yaml' # comment",
        'id=$(crc batch submit "x y") && echo "$id#" | tee a>b 2>&1; x=1',
        "cat > f <<'END' | wc",
        'npm nothing',
        'END',
      ),
    ),
    [
      ['npm', 'start', '--', 'run', '--config', 'a b.yaml'],
      ['crc', 'batch', 'submit', 'x y'],
      ['echo', '$id#'],
      ['tee', 'a'],
      ['cat'],
      ['wc'],
    ],
  );
  const word = fc.stringMatching(/^[a-z][a-z.-]{0,8}$/);
  const separator = fc.constantFrom(' | ', '\n', ' && ', ' || ', '; ', ' & ', '\n# note\n');
  fc.assert(
    fc.property(fc.array(fc.array(word, { minLength: 1 })), separator, (commands, between) => {
      assert.deepEqual(
        commandsIn(commands.map((words) => words.join(' ')).join(between)),
        commands,
      );
    }),
  );
  fc.assert(fc.property(fc.string(), (any) => Array.isArray(commandsIn(any))));
});
