import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readRecords } from '../../../src/sandbox/imports/read-records.ts';
import { type PolicyInput, parsePolicy } from '../../../src/sandbox/policy/schema.ts';
import { InvalidUpload } from '../../../src/sandbox/review/csv-rows.ts';

const quiet = new AbortController().signal;

async function* inChunks(bytes: Buffer, step: number): AsyncGenerator<Buffer> {
  for (let from = 0; from < bytes.length; from += step) yield bytes.subarray(from, from + step);
}

function count(
  file: string | Buffer,
  step = 7,
  policy: PolicyInput['imports'] = {},
): Promise<number> {
  return readRecords(
    inChunks(Buffer.from(file), step),
    parsePolicy({ imports: policy }).imports,
    quiet,
  );
}

const record = fc.record({
  type: fc.string({ unit: 'grapheme' }),
  data: fc.dictionary(fc.string(), fc.jsonValue()),
});

test('any records are counted, however the file is cut into chunks, with or without a last line end, LF or CRLF', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(record, { minLength: 1, maxLength: 6 }),
      fc.integer({ min: 1, max: 64 }),
      fc.constantFrom('\n', '\r\n'),
      fc.boolean(),
      async (records, step, lineEnd, isEnded) => {
        const file =
          records.map((one) => JSON.stringify(one)).join(lineEnd) + (isEnded ? lineEnd : '');
        assert.equal(await count(file, step), records.length);
      },
    ),
  );
});

test('one wrong line among any good ones is found by its number and not quoted', async () => {
  const wrong = fc.constantFrom(
    '',
    ' ',
    'secret',
    '"secret"',
    'null',
    '[]',
    '{"type":"secret"}',
    '{"data":{}}',
    '{"type":1,"data":{}}',
    '{"type":"a","data":null}',
    '{"type":"a","data":["secret"]}',
    '{"type":"a","data":{},"secret":1}',
    '\ufeff{"type":"a","data":{}}',
    '{"type":"a","data":{}}{"type":"a","data":{}}',
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(record, { maxLength: 4 }),
      wrong,
      fc.array(record, { maxLength: 4 }),
      async (before, line, after) => {
        const lines = [
          ...before.map((one) => JSON.stringify(one)),
          line,
          ...after.map((one) => JSON.stringify(one)),
        ];
        await assert.rejects(count(`${lines.join('\n')}\n`), ({ message, name }: Error) => {
          assert.equal(name, 'InvalidUpload');
          assert.match(message, new RegExp(`^line ${before.length + 1}\\b`));
          assert.doesNotMatch(message, /secret/);
          return true;
        });
      },
    ),
  );
});

test('an empty file and bytes that are not UTF-8 are no imports', async () => {
  await assert.rejects(count(''), /the upload is empty/);
  const latin1 = Buffer.from('{"type":"é","data":{}}', 'latin1');
  await assert.rejects(count(latin1), /line 1 is not UTF-8/);
});

test('the policy fails types that it does not know, and records that fit one of its conditions', async () => {
  const line = (type: string, text: string) => `${JSON.stringify({ type, data: { text } })}\n`;
  const fail = [{ type: 'user', contains: 'BAD', matches: '\\d{3}' }, { type: 'poison' }];
  assert.equal(
    await count(line('user', 'bad') + line('user', '123') + line('order', 'bad 123'), 9, { fail }),
    3,
  );
  await assert.rejects(
    count(line('user', 'fine') + line('user', 'bad 123'), 9, { fail }),
    /^InvalidUpload: line 2: a rule/,
  );
  await assert.rejects(count(line('poison', ''), 9, { fail }), InvalidUpload);
  await assert.rejects(
    count(line('order', ''), 9, { types: ['user'] }),
    /line 1: records of this type .* known are user/,
  );
});

test('an abort ends the reading', async () => {
  const stopped = AbortSignal.abort(new Error('stopped'));
  await assert.rejects(
    readRecords(inChunks(Buffer.from('{}'), 1), parsePolicy({}).imports, stopped),
    /stopped/,
  );
});
