import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { parse } from 'csv-parse/sync';
import { stringify } from 'csv-stringify/sync';
import fc from 'fast-check';
import { type PolicyInput, parsePolicy } from '../../../src/sandbox/policy/schema.ts';
import { InvalidUpload } from '../../../src/sandbox/review/csv-rows.ts';
import { resultFile } from '../../../src/sandbox/review/result-file.ts';

/** Reviews a CSV given in chunks; returns the result file as rows. */
async function reviewed(
  chunks: readonly (string | Buffer)[],
  policy: PolicyInput = {},
): Promise<string[][]> {
  const upload = Readable.from(chunks.map((chunk) => Buffer.from(chunk)));
  const parsed = parsePolicy(policy);
  const fault = parsed.faults.find(({ action }) => action === 'rows') ?? null;
  const request = { type: 't', policy: parsed, fault };
  const counts = { rows: 0, errorRows: 0 };
  const { signal } = new AbortController();
  let text = '';
  for await (const part of resultFile(upload, request, counts, signal)) text += part;
  const rows: string[][] = parse(text);
  if (fault === null) assert.equal(counts.rows, rows.length - 1);
  return rows;
}

const FIXED = ['Content', 'Status', 'Sandbox result', 'Expected result', 'Labels'];
const cell = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.string({
    unit: fc.constantFrom(
      '"',
      ',',
      '\n',
      '\r',
      ';',
      "'",
      '=',
      '\\',
      ' ',
      '\t',
      '\u0000',
      'é',
      '😀',
      'a',
    ),
  }),
  fc.constantFrom('', '007', '{"a":"b,c"}', '\r\n', '=1+1', 'NULL', '\ufeff'),
);
const header = fc
  .uniqueArray(cell, { maxLength: 5 })
  .map((names) => ['Content', ...names.filter((name) => name !== 'Content')]);
const file = header.chain((names) =>
  fc.record({
    names: fc.constant(names),
    rows: fc.array(fc.array(cell, { minLength: names.length, maxLength: names.length }), {
      maxLength: 8,
    }),
  }),
);

test('any file of hostile content and metadata comes back with the same cells, however it is cut into chunks', async () => {
  await fc.assert(
    fc.asyncProperty(file, fc.integer({ min: 1, max: 64 }), async ({ names, rows }, step) => {
      const csv = Buffer.from(stringify([names, ...rows], { quoted: true }));
      const chunks: Buffer[] = [];
      for (let from = 0; from < csv.length; from += step)
        chunks.push(csv.subarray(from, from + step));
      const [resultHeader = [], ...results] = await reviewed(chunks);
      const metadata = names.filter((name) => name !== 'Content' && name !== 'Expected result');
      assert.deepEqual(resultHeader, [...FIXED, ...metadata]);
      assert.equal(results.length, rows.length);
      for (const [index, row] of rows.entries()) {
        const result = results[index] ?? [];
        const original = (name: string) => row[names.indexOf(name)] ?? '';
        assert.deepEqual(result.slice(0, 4), [
          original('Content'),
          'SUCCESS',
          'approved',
          original('Expected result'),
        ]);
        assert.deepEqual(result.slice(FIXED.length), metadata.map(original));
      }
    }),
  );
});

test('metadata columns with the names of result columns come back beside them', async () => {
  assert.deepEqual(await reviewed(['Status,Content,Labels\nopen,hello,x\n']), [
    [...FIXED, 'Status', 'Labels'],
    ['hello', 'SUCCESS', 'approved', '', '[]', 'open', 'x'],
  ]);
});

test('result columns are in the order of the policy, under the name of the service', async () => {
  const policy: PolicyInput = {
    service: { name: 'Acme Trust' },
    results: { columns: ['metadata', 'labels', 'result', 'content', 'expected', 'status'] },
  };
  assert.deepEqual(await reviewed(['Content,a,Expected result,b\nx,1,e,2\n'], policy), [
    ['a', 'b', 'Labels', 'Acme Trust result', 'Content', 'Expected result', 'Status'],
    ['1', '2', '[]', 'approved', 'x', 'e', 'SUCCESS'],
  ]);
});

test('a byte order mark, CRLF and a missing last line end are understood', async () => {
  const [head, ...rows] = await reviewed(['\ufeffContent,a\r\nx,1\r\ny,2']);
  assert.deepEqual(head, [...FIXED, 'a']);
  assert.deepEqual(
    rows.map((row) => [row[0], row[5]]),
    [
      ['x', '1'],
      ['y', '2'],
    ],
  );
});

test('a file with a header and no rows has no results', async () => {
  assert.deepEqual(await reviewed(['Content,a\n']), [[...FIXED, 'a']]);
});

test('a file that is not CSV with a Content column is refused, without quoting it', async () => {
  const refused: [string, RegExp][] = [
    ['', /the upload is empty: it needs a header row/],
    ['content,a\nx,1\n', /the upload has no column named Content/],
    ['Content,a\nsecret\n', /not valid CSV: CSV_RECORD_INCONSISTENT_FIELDS_LENGTH at line 2/],
    ['Content,a\n"secret,1\n', /not valid CSV: CSV_QUOTE_NOT_CLOSED/],
    ['Content,a\nse"cret,1\n', /not valid CSV: INVALID_OPENING_QUOTE/],
  ];
  for (const [csv, message] of refused) {
    await assert.rejects(reviewed([csv]), (error: unknown) => {
      assert.ok(error instanceof InvalidUpload, String(error));
      assert.match(error.message, message);
      assert.doesNotMatch(error.message, /secret/);
      return true;
    });
  }
});

test('a rows fault leaves out, doubles, breaks, invents and widens rows, in this order', async () => {
  const csv = `Content,ref\n${[1, 2, 3, 4, 5].map((n) => `c${n},"{""o"":${n}}"`).join('\n')}\n`;
  const fault = { missing: 1, duplicated: 1, malformed: 1, unknown: 1, columns: { Reviewer: 'r' } };
  const policy: PolicyInput = { faults: [{ operation: 'review', action: 'rows', ...fault }] };
  const [head, ...rows] = await reviewed([csv], policy);
  assert.deepEqual(head, [...FIXED, 'ref', 'Reviewer']);
  assert.deepEqual(
    rows.map((row) => [row[0], row[5], row[6]]),
    [
      ['c2', '{"o":2}', 'r'],
      ['c2', '{"o":2}', 'r'],
      ['c3', '{"broken', 'r'],
      ['c4', '{"o":4}', 'r'],
      ['c5', '{"o":5}', 'r'],
      ['c5', '{"o":1000000005}', 'r'],
    ],
  );
});

test('shuffled rows are all there, in another order, the same in every run', async () => {
  const csv = `Content,ref\n${Array.from({ length: 50 }, (_, n) => `c${n},${n}`).join('\n')}\n`;
  const policy: PolicyInput = { faults: [{ operation: 'review', action: 'rows', shuffled: true }] };
  const contents = async () => (await reviewed([csv], policy)).slice(1).map((row) => row[0] ?? '');
  const first = await contents();
  assert.deepEqual(await contents(), first);
  const inOrder = Array.from({ length: 50 }, (_, n) => `c${n}`);
  assert.notDeepEqual(first, inOrder);
  assert.deepEqual(first.toSorted(), inOrder.toSorted());
});
