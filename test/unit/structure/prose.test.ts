/** Style of comments, messages and pages (CONTRIBUTING.md): the worst patterns are counted. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

const DOCBLOCK = /\/\*\*([\s\S]*?)\*\//g;
const COMMENT = /\/\*\*[\s\S]*?\*\/|(?<=^|\s)\/\/ .*$/gm;

/** Texts with a space: messages and descriptions. */
const TEXT = /'(?=[^'\n]* )(?:[^'\\\n]|\\.)*'|`(?=[^`]* )(?:[^`\\]|\\.)*`/g;

/** A docblock that begins with a clause or an elliptical "Of …" instead of a noun or a verb. */
const CLAUSE_FIRST = /^(?:What|Who|Whom|Whose|Whoever|Where|How|Whether|When|Why|Of)\b/;

/** Machine or record as the subject of a verb of speech or will. */
const PERSONIFIED =
  /\b(?:broker|cluster|service|server|storage|topic|journal|log|file|header|answer|record|batch|engine|connector|kafkajs|Kafka|registry|proxy|port|option|code|call|client)s? (?:says?|said|tells?|told|wants?|asks?|believes?|thinks?|speaks?)\b/;

const DIALECT =
  /\b(?:for ever|anew|nobody|somebody|whoever|everybody|anybody|(?<!there )(?:is|are) none|what (?:is|are) (?:told|said|shown|asked))\b/i;

/** Documents that are not in the repository. */
const ELSEWHERE = /\b(?:DESIGN|FINDINGS)(?:\.md)? \d|service-interface\.md/;

const textOf = (comment: string): string =>
  comment
    .replace(/^\s*(?:\/\*\*|\*\/|\*|\/\/) ?/gm, '')
    .replace(/\*\/$/, '')
    .trim();

const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');

const CODE = globSync('{src,dev,test}/**/*.ts', { cwd: ROOT }).filter(
  (file) => !file.includes('node_modules') && !file.endsWith('structure/prose.test.ts'),
);
const MESSAGES = CODE.filter((file) => !file.startsWith('test/'));
const PAGES = globSync('{*.md,docs/**/*.md}', { cwd: ROOT }).filter(
  (file) => !/^CHANGELOG|^CONTRIBUTING|docs\/adr\//.test(file),
);

function found(files: readonly string[], blocks: RegExp | undefined, pattern: RegExp): string[] {
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

test('machines neither speak nor want in comments, messages and pages', () => {
  assert.deepEqual(found(CODE, COMMENT, PERSONIFIED), []);
  assert.deepEqual(found(MESSAGES, TEXT, PERSONIFIED), []);
  assert.deepEqual(found(PAGES, undefined, PERSONIFIED), []);
});

test('comments, messages and pages use the words of the field', () => {
  assert.deepEqual(found(CODE, COMMENT, DIALECT), []);
  assert.deepEqual(found(MESSAGES, TEXT, DIALECT), []);
  assert.deepEqual(found(PAGES, undefined, DIALECT), []);
});

test('comments refer only to documents of this repository', () => {
  assert.deepEqual(found(CODE, COMMENT, ELSEWHERE), []);
});
