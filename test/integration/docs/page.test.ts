/** The runner of pages itself: a page that is right passes, one that is wrong fails at the line. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../../support/docs/pages.ts';
import { eventually } from '../../support/eventually.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { followPage } from './page.ts';

const FENCE = '```';
const block = (mark: string, ...lines: readonly string[]) =>
  [`${FENCE}${mark}`, ...lines, FENCE, ''].join('\n');

test('variables, functions, the directory and files live on; exit codes and output are as shown', async () => {
  await followPage(
    [
      block('json data/a.json', '{"port": 1}'),
      block('sh', "export WORD='two words'", 'greet() { echo "hello $1"; }', 'cd data'),
      block('sh', 'cat a.json', 'greet "$WORD" | cat', 'echo later >&2'),
      block('text', '{"port": …}', 'hello two words', '…'),
      block('sh exit=3', '[ -f a.json ] || exit 9', 'exit 3'),
      block('sh elsewhere', 'exit 1'),
      block('sh', 'node --version && test -f ../package.json && ls ../node_modules/.bin/node'),
    ].join('\n'),
  );
  assert.ok(!existsSync(path.join(ROOT, 'data')), 'a page writes into its own directory only');
});

test('a page that is wrong fails with the line of the command', async () => {
  const wrong: readonly (readonly [page: string, message: RegExp])[] = [
    // Also in the middle of a block.
    [block('sh', 'false', 'true'), /^line 1 ended with exit code 1/],
    [`Text\n\n${block('sh exit=4', 'true')}`, /^line 3 ended with exit code 0/],
    [block('sh', 'echo a; echo b') + block('text', 'a'), /^line 1 prints something else/],
    [block('sh background', 'exit 0'), /^line 1 ended with exit code 0/],
    [block('sh', 'cat').replace('cat', '[ -n "$(cat)" ]'), /^line 1 ended with exit code 1/],
  ];
  for (const [page, message] of wrong)
    await assert.rejects(followPage(page), (error: Error) => {
      assert.match(error.message, message);
      return true;
    });
});

test('a page that would write into the repository, through the links of its checkout, is refused', async () => {
  for (const name of ['docs/written-by-a-page.json', 'examples/typescript/../a.json'])
    await assert.rejects(
      followPage(block(`json ${name}`, '{}')),
      /block is sh|into the repository/,
    );
  assert.ok(!existsSync(path.join(ROOT, 'docs/written-by-a-page.json')));
});

test('a background command is ready when it has printed what the page shows, and ends with the page', async () => {
  const file = path.join(temporaryDirectory(), 'ended');
  const serve = `trap 'echo > ${file}; exit 0' INT; echo up at 127.0.0.1:9092; while :; do read -t 0.05 _ < <(:) || :; done`;
  await followPage(
    block('sh background', serve) +
      block('text', 'up at 127.0.0.1:9092') +
      block('sh', 'echo 127.0.0.1:9092 --port 9092') +
      block('text', '127.0.0.1:9092 --port 9092'),
  );
  await eventually('Ctrl-C has reached it', () => existsSync(file));
});

test('with a broker at hand npm run kafka starts none, and the page gets its address', async () => {
  await followPage(
    block('sh background', 'npm run kafka -- --port 9092') +
      block('sh', 'echo "$KAFKA_BROKERS is 127.0.0.1:9092"', '[ "$KAFKA_BROKERS" = example:1 ]') +
      block('text', 'example:1 is 127.0.0.1:9092'),
    { brokers: 'example:1' },
  );
});
