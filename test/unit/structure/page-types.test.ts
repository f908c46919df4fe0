/** Checks the types of TypeScript blocks in pages. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { blocksOf } from '../../support/docs/blocks.ts';
import { PAGES, ROOT } from '../../support/docs/pages.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** Compiles each block as a separate module. Returns the output of the compiler. */
function problemsOf(texts: ReadonlyMap<string, string>): string {
  const directory = temporaryDirectory();
  for (const [name, text] of texts)
    writeFileSync(
      path.join(directory, name),
      text.replace(/'\.\.\/(src|packages)\//g, `'${ROOT}$1/`),
    );
  const compilerOptions = {
    paths: {
      'content-review-client': [`${ROOT}packages/client/src/index.ts`],
      'content-review-consumer': [`${ROOT}packages/consumer/src/index.ts`],
      'content-review-connector/contracts': [`${ROOT}contracts/index.d.ts`],
    },
    typeRoots: [`${ROOT}node_modules/@types`],
    rewriteRelativeImportExtensions: false,
  };
  const project = path.join(directory, 'tsconfig.json');
  const extended = { extends: `${ROOT}tsconfig.json`, include: ['*.mts'], compilerOptions };
  writeFileSync(project, JSON.stringify(extended));
  return spawnSync(
    process.execPath,
    [path.join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', project],
    { encoding: 'utf8' },
  ).stdout;
}

test('every TypeScript block of a page is type-correct', () => {
  const texts = new Map(
    PAGES.flatMap((page) =>
      blocksOf(readFileSync(path.join(ROOT, page), 'utf8'))
        .filter(({ language }) => language === 'ts')
        .map(({ line, text }) => [`${page.replaceAll('/', '-')}-line-${line}.mts`, text] as const),
    ),
  );
  assert.ok(texts.size >= 5, `only ${texts.size} blocks`);
  const wrong =
    "import { consumeDecisions } from 'content-review-consumer';\nawait consumeDecisions({});\n";
  const lines = problemsOf(new Map([...texts, ['wrong.mts', wrong]])).split('\n');
  const problems = lines.filter((line) => /error TS/.test(line));
  assert.equal(problems.length, 1, `not one problem:\n${lines.join('\n')}`);
  assert.match(problems[0] ?? '', /wrong\.mts/);
});
