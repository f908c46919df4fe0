/** No external document can change the keys of another document, wherever external documents are read. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parseJson, parseKeepingDigits } from '../../../../src/base/json/parse-json.ts';

const ROOT = fileURLToPath(new URL('../../../../../..', import.meta.url));
/** Files that parse only names and strings, or documents without escaped names. */
const PARSERS = ['packages/client/src/base/json/', 'src/events/expression/input.ts'];

test('a key is read as written, even after a document whose keys V8 would confuse with it', () => {
  for (const [index, parse] of [parseJson, parseKeepingDigits].entries()) {
    // V8 confuses keys with a given name only once (https://github.com/nodejs/node/issues/63785).
    const first = `first${index}`;
    parse(String.raw`{"${first}":1,"\\u00":2}`);
    assert.deepEqual(parse(String.raw`{"${first}":1,"\u00e9tat":3}`), { [first]: 1, état: 3 });
  }
});

test('documents are read only with the project’s own parser', () => {
  const sources = globSync(['src/**/*.ts', 'packages/*/src/**/*.ts'], { cwd: ROOT });
  const others = sources.filter(
    (file) =>
      !PARSERS.some((parser) => file.startsWith(parser)) &&
      /\bJSON\.parse\(|\.json\(\)/.test(readFileSync(`${ROOT}/${file}`, 'utf8')),
  );
  assert.ok(sources.length > 100);
  assert.deepEqual(others, []);
});
