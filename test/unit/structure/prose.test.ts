/** Style of comments, messages and pages (CONTRIBUTING.md): the worst patterns are counted. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

const DOCBLOCK = /\/\*\*([\s\S]*?)\*\//g;

/** A docblock that begins with a clause or an elliptical "Of …" instead of a noun or a verb. */
const CLAUSE_FIRST = /^(?:What|Who|Whom|Whose|Whoever|Where|How|Whether|When|Why|Of)\b/;

const textOf = (comment: string): string =>
  comment
    .replace(/^\s*(?:\/\*\*|\*\/|\*|\/\/) ?/gm, '')
    .replace(/\*\/$/, '')
    .trim();

const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');

const CODE = globSync('{dev,test}/**/*.ts', { cwd: ROOT }).filter(
  (file) => !file.includes('node_modules') && !file.endsWith('structure/prose.test.ts'),
);
function found(files: readonly string[], blocks: RegExp, pattern: RegExp): string[] {
  return files.flatMap((file) => {
    const texts = blocks === undefined ? [read(file)] : (read(file).match(blocks) ?? []);
    return texts.map(textOf).flatMap((text) => {
      const match = pattern.exec(text);
      return match === null
        ? []
        : `${file}: ${text.slice(Math.max(0, match.index - 30), match.index + 60)}`;
    });
  });
}

test('a docblock begins with a noun or a verb in the third person', () => {
  assert.deepEqual(found(CODE, DOCBLOCK, CLAUSE_FIRST), []);
});
