import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { MAX_LINE_BYTES, memberCount } from '../../../src/cli/files/jsonl-check.ts';
import { checkJsonl } from './checking.ts';

const record = fc.record({
  type: fc.string({ unit: 'grapheme' }),
  data: fc.dictionary(fc.string(), fc.jsonValue()),
});
const chunkBytes = fc.integer({ min: 1, max: 64 });
const lineOf = (value: unknown) => Buffer.from(JSON.stringify(value));

const WRONG: readonly (readonly [string, Buffer, RegExp])[] = [
  ['a blank line', Buffer.from(' \t\r'), /^blank: remove it$/],
  ['a broken line', Buffer.from('{"type":"user","data":{'), /^not JSON/],
  ['a list', Buffer.from('[]'), /^not a JSON object/],
  ['a number', Buffer.from('7'), /^not a JSON object$/],
  ['no type', lineOf({ data: {} }), /^no field type$/],
  ['neither field', lineOf({}), /^no field type and no field data$/],
  ['a type that is no text', lineOf({ type: 7, data: {} }), /^the field type must be a string$/],
  ['data that is a list', lineOf({ type: 'user', data: [] }), /^the field data must be an object$/],
  ['data that is null', lineOf({ type: 'user', data: null }), /^the field data must be an object$/],
  [
    'another field',
    lineOf({ type: 'user', data: {}, id: 1, 'x\n': 2, y: 3, z: 4 }),
    /^fields other than type and data: id, x\\u000a, y and 1 more$/,
  ],
  [
    'a field that comes twice',
    Buffer.from('{"type":"user","data":{},"\\u0074ype":"post"}'),
    /^a field occurs more than once/,
  ],
  ['bytes that are not UTF-8', Buffer.from('{"type":"caf\xe9","data":{}}', 'latin1'), /^not UTF-8/],
  ['a NUL byte', Buffer.from('{"type":"a","data":{}}\0'), /^a NUL byte/],
];

describe('a JSON Lines file', () => {
  it('of records with exactly type and data is valid, in pieces of any size, with either line end', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(record, { minLength: 1 }),
        fc.constantFrom('\n', '\r\n'),
        fc.boolean(),
        chunkBytes,
        async (records, end, last, size) => {
          const text = records.map((one) => JSON.stringify(one)).join(end) + (last ? end : '');
          const { findings, checked } = await checkJsonl(text, size);
          assert.deepEqual([findings, checked.records], [[], records.length]);
        },
      ),
    );
  });

  for (const [name, wrong, message] of WRONG) {
    it(`with ${name} has a finding in that line, and in no other`, async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(record, { maxLength: 5 }),
          fc.array(record, { maxLength: 3 }),
          chunkBytes,
          async (above, below, size) => {
            const lines = [...above.map(lineOf), wrong, ...below.map(lineOf)].flatMap((line) => [
              line,
              Buffer.from('\n'),
            ]);
            const { findings } = await checkJsonl(Buffer.concat(lines), size);
            assert.equal(findings.length, 1);
            assert.equal(findings[0]?.line, above.length + 1);
            assert.match(findings[0]?.message ?? '', message);
          },
        ),
        { numRuns: 10 },
      );
    });
  }

  it('that is a JSON array has a finding with the remedy', async () => {
    assert.match(
      (await checkJsonl('[{"type":"a","data":{}}]\n')).findings[0]?.message ?? '',
      /jq -c '\.\[\]' FILE/,
    );
  });

  it('never shows its content, not even in a syntax error', async () => {
    const { findings } = await checkJsonl('{"type":"user","data":{"secret":hunter2}}\nhunter2\n');
    assert.equal(findings.length, 2);
    assert.doesNotMatch(JSON.stringify(findings), /hunter2/);
  });

  it('with an endless line is refused in bounded memory, and checked on from the next line', async () => {
    const long = Buffer.alloc(MAX_LINE_BYTES + 1, 'x');
    const { findings } = await checkJsonl(
      Buffer.concat([Buffer.from('{"type":"a","data":{}}\n'), long, Buffer.from('\n7\n')]),
      1 << 16,
    );
    assert.deepEqual(
      findings.map(({ line, message }) => `${line} ${message.slice(0, 12)}`),
      ['2 longer than ', '3 not a JSON o'].map((text) => text.slice(0, 14)),
    );
  });
});

it('members of an object are counted as written, repeated names included', () => {
  const members = fc.array(fc.tuple(fc.oneof(fc.constant('a'), fc.string()), fc.jsonValue()), {
    minLength: 1,
  });
  fc.assert(
    fc.property(members, fc.constantFrom('', ' ', '\t'), (entries, gap) => {
      const written = entries.map(
        ([name, value]) => `${JSON.stringify(name)}${gap}:${JSON.stringify(value)}${gap}`,
      );
      assert.equal(memberCount(`${gap}{${written.join(',')}}`), entries.length);
    }),
  );
});
