/** No document changes the keys of another one, wherever documents of others are read. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parseJson, parseKeepingDigits } from '../../../../src/base/json/parse-json.ts';

const ROOT = fileURLToPath(new URL('../../../../../..', import.meta.url));
/** They parse names and texts alone, or texts without an escaped name. */
const PARSERS = ['packages/client/src/base/json/', 'src/events/expression/input.ts'];

test('a key of a document is read as it is written, after a document that V8 confuses with it', () => {
  for (const [index, parse] of [parseJson, parseKeepingDigits].entries()) {
    // V8 confuses the keys after one only once (https://github.com/nodejs/node/issues/63785).
    const first = `first${index}`;
    parse(String.raw`{"${first}":1,"\\u00":2}`);
    assert.deepEqual(parse(String.raw`{"${first}":1,"\u00e9tat":3}`), { [first]: 1, état: 3 });
  }
});

test('documents are read by the parser of the project alone', () => {
  const sources = globSync(['src/**/*.ts', 'packages/*/src/**/*.ts'], { cwd: ROOT });
  const others = sources.filter(
    (file) =>
      !PARSERS.some((parser) => file.startsWith(parser)) &&
      /\bJSON\.parse\(|\.json\(\)/.test(readFileSync(`${ROOT}/${file}`, 'utf8')),
  );
  assert.ok(sources.length > 100);
  assert.deepEqual(others, []);
});
