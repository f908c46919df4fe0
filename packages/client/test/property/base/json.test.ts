/** Scanner, compact copy and parser of JSON, compared with `JSON.parse`. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { CompactObject } from '../../../src/base/json/compact-object.ts';
import { MAX_VALUES, parseJson, parseKeepingDigits } from '../../../src/base/json/parse-json.ts';
import { JsonScanner, MAX_LEVELS, MISSING } from '../../../src/base/json/scanner.ts';
import { canonical, numberText, objectText, valueText } from './json-texts.ts';

const RUNS = { numRuns: 1_000 };

/** Strings that are almost JSON, made of tokens that a scanner may confuse. */
const almostJson = fc
  .array(
    fc.constantFrom(
      ...['{', '}', '[', ']', ',', ':', ' ', '\t', '\n', '\u00a0', '\ufeff', '"', '\\', '/'],
      ...['"a"', '"content"', '"\\u0061"', '"\\ud800"', '"\\x"', '"\\u12g4"', '"é"', '"\u0001"'],
      ...['0', '-0', '-', '01', '1.', '.5', '1.5e', '1e+5', '1E-7', '12345678901234567890'],
      ...['true', 'false', 'null', 'nul', 'truefalse', 'NaN', '\u2028', '{"a":1}', '[1,2]'],
    ),
    { maxLength: 9 },
  )
  .map((parts) => parts.join(''));

const isJson = (bytes: Buffer): boolean => {
  try {
    JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
    return true;
  } catch {
    return false;
  }
};

/** Scans bytes that are surrounded by other bytes, which would continue the document. */
function scanned(bytes: Buffer, paths: string[][] = [[]], around = '"}]1,') {
  const scanner = new JsonScanner(paths);
  const within = Buffer.concat([Buffer.from(around), bytes, Buffer.from(around)]);
  const fault = scanner.scan(within, around.length, around.length + bytes.length);
  return { fault, within, values: scanner.values };
}

test('the scanner accepts exactly the strings that JSON.parse accepts', () => {
  const bytes = fc.oneof(
    almostJson.map((text) => Buffer.from(text)),
    valueText.map((text) => Buffer.from(text)),
    fc.json().map((text) => Buffer.from(text)),
    fc.tuple(valueText, fc.nat(), fc.integer({ min: 0, max: 255 })).map(([text, place, byte]) => {
      const changed = Buffer.from(text);
      changed[place % changed.length] = byte;
      return changed;
    }),
    fc.uint8Array({ maxLength: 20 }).map((array) => Buffer.from(array)),
  );
  fc.assert(
    fc.property(bytes, (text) => {
      assert.equal(scanned(text).fault === undefined, isJson(text));
    }),
    { ...RUNS, numRuns: 5_000 },
  );
});

test('a scanned value is the one that JSON.parse finds at its path', () => {
  const paths = [['a'], ['a', 'b'], ['1', 'a'], ['b', 'a', 'b']];
  fc.assert(
    fc.property(objectText, (text) => {
      const { fault, within, values } = scanned(Buffer.from(text), paths);
      assert.equal(fault, undefined);
      const document = parseJson(text);
      for (const [i, path] of paths.entries()) {
        let wanted: unknown = document;
        for (const name of path)
          wanted =
            typeof wanted === 'object' && !Array.isArray(wanted) && wanted !== null
              ? Object.getOwnPropertyDescriptor(wanted, name)?.value
              : undefined;
        const { type, start, end } = values[i] as (typeof values)[number];
        const found = type === MISSING ? undefined : parseJson(within.toString('utf8', start, end));
        assert.deepEqual(found, wanted);
      }
    }),
    RUNS,
  );
});

test('a document nested more deeply than the limit is refused, and one at the limit is not', () => {
  const nested = (levels: number) => Buffer.from('['.repeat(levels) + ']'.repeat(levels));
  assert.equal(scanned(nested(MAX_LEVELS)).fault, undefined);
  assert.equal(scanned(nested(MAX_LEVELS + 1)).fault, 'depth');
});

test('a compact copy equals the object, and is canonical except for the spelling of its numbers', () => {
  const copies = new CompactObject();
  fc.assert(
    fc.property(objectText, fc.nat(9), (text, at) => {
      const from = Buffer.concat([Buffer.from('x'), Buffer.from(text), Buffer.from('}')]);
      const to = Buffer.alloc(at + Buffer.byteLength(text));
      const end = copies.copy(from, 1, to, at);
      const copy = to.toString('utf8', at, end);
      const document = parseJson(text) as object;
      assert.deepEqual(parseJson(copy), document);
      // Returns the members sorted by name. If a name is repeated, the last member is kept.
      const sorted = (one: string) => JSON.stringify(canonical(parseKeepingDigits(one)));
      assert.equal(sorted(copy), sorted(text));
      assert.equal(copies.members, Object.keys(document).length);
      for (let member = 0; member < copies.members; member++) {
        const name = JSON.parse(
          to.toString('utf8', copies.nameStart(member), copies.nameEnd(member)),
        );
        const value = to.toString('utf8', copies.valueStart(member), copies.valueEnd(member));
        assert.deepEqual(
          parseJson(value),
          Object.getOwnPropertyDescriptor(document, name as string)?.value,
        );
      }
      // No whitespace, other escapes or repeated names are left, so another copy is identical.
      const again = Buffer.alloc(copy.length * 3);
      assert.equal(again.toString('utf8', 0, copies.copy(to, at, again, 0)), copy);
    }),
    RUNS,
  );
});

test('a compact copy keeps the order of the last members of each name', () => {
  const from = Buffer.from('{"b":1,"2":1,"1":2,"b":3}');
  const to = Buffer.alloc(from.length);
  const end = new CompactObject().copy(from, 0, to, 0);
  assert.equal(to.toString('utf8', 0, end), '{"2":1,"1":2,"b":3}');
});

test('the parser returns the values of JSON.parse, and rejects the same strings', () => {
  const attempt = (parse: (text: string) => unknown, text: string) => {
    try {
      return { value: parse(text) };
    } catch (error) {
      return { isSyntaxError: error instanceof SyntaxError };
    }
  };
  // These names have no escapes, so JSON.parse reads them correctly.
  const texts = fc
    .oneof(fc.json(), almostJson, valueText)
    .filter((text) => !/\\[^"]*"\s*:/.test(text));
  fc.assert(
    fc.property(texts, (text) => {
      const wanted = attempt(JSON.parse, text);
      assert.deepEqual(attempt(parseJson, text), wanted);
      const exact = attempt(parseKeepingDigits, text);
      assert.equal('value' in exact, 'value' in wanted);
      if ('value' in exact) assert.deepEqual(JSON.parse(JSON.stringify(exact.value)), wanted.value);
    }),
    RUNS,
  );
});

test('a document with too many levels or values is refused, and one at the limits is not', () => {
  const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
  const list = (values: number) => `["\\n",${'0,'.repeat(values - 2)}0]`;
  for (const parse of [parseJson, parseKeepingDigits]) {
    parse(nested(MAX_LEVELS));
    assert.throws(() => parse(nested(MAX_LEVELS + 1)), SyntaxError);
    parse(list(MAX_VALUES));
    parse(list(MAX_VALUES).replace('\\n', ''));
    assert.throws(() => parse(list(MAX_VALUES + 1)), SyntaxError);
  }
});

test('no error of the parser quotes the document', () => {
  for (const text of [
    'secret',
    '["secret',
    '{"secret" 1}',
    '["secret\\x"]',
    '["secret",]',
    '[1]secret',
  ])
    for (const parse of [parseJson, parseKeepingDigits])
      assert.throws(
        () => parse(text),
        (error) => error instanceof SyntaxError && !String(error.stack).includes('secret'),
      );
});

test('a number that JavaScript would write differently keeps its spelling', () => {
  fc.assert(
    fc.property(fc.array(numberText), (numbers) => {
      const text = `[${numbers.join(',')}]`;
      assert.equal(JSON.stringify(parseKeepingDigits(text)), text);
    }),
    RUNS,
  );
});
