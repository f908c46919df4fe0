import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ContentItem } from '../../../../src/core/record.ts';
import type { UploadOptions } from '../../../../src/kinds/review/csv-rows.ts';
import { contentItem, uploadOf } from './items.ts';
import { readCsv } from './plain-csv.ts';

/** Returns the cells of an upload without the references. */
async function table(
  items: readonly ContentItem[],
  options?: Partial<UploadOptions>,
): Promise<string[][]> {
  return readCsv(await uploadOf(items, options)).map((row) => row.slice(0, -1));
}

async function columnsOf(
  metadata: object | string,
  options?: Partial<UploadOptions>,
): Promise<string[]> {
  const [header = []] = await table([contentItem({ metadata })], options);
  return header.slice(1);
}

const withKeys = (keys: readonly string[]) => Object.fromEntries(keys.map((key) => [key, 'x']));

test('Content comes first, then metadata in order of first appearance, and the expected result', async () => {
  const items = [
    contentItem({ metadata: { b: 'x' } }),
    contentItem({ offset: 42, metadata: { a: 7, b: '' }, expected: 'ham' }),
  ];
  assert.deepEqual(await table(items), [
    ['Content', 'b', 'a', 'Expected result'],
    ['hello', 'x', '', ''],
    ['hello', '', '7', 'ham'],
  ]);
});

test('a string is a plain cell, any other value its original JSON without blanks', async () => {
  const metadata = `{"s":"a\\u0041\\n","n":1.50,"e":1E5,"big":12345678901234567890,"t":true,
    "z":null,"o":{ "k" : [ 1, "\\"" ] },"":0,"c":"a,b","long":"${'x'.repeat(100)}"}`;
  const [header, row] = await table([contentItem({ metadata })]);
  assert.deepEqual(header, ['Content', 's', 'n', 'e', 'big', 't', 'z', 'o', 'c', 'long']);
  const cells = ['aA\n', '1.50', '1E5', '12345678901234567890', 'true', 'null', '{"k":[1,"\\""]}'];
  assert.deepEqual(row?.slice(1), [...cells, 'a,b', 'x'.repeat(100)]);
});

test('a key that could be mistaken for another column or is unusable as a header has no column', async () => {
  const keys = [
    ...['Status', 'status', ' Content', 'Labels', 'Expected result', 'EXPECTED RESULT'],
    ...['Service result', 'a Result ', '', ' ', 'connector_ref', 'Connector_Ref', 'line\nbreak'],
    ...['nul\0', '\ufeffbom', '\ud800', 'a ', 'k'.repeat(1001)],
  ];
  assert.deepEqual(await columnsOf(withKeys([...keys, 'a'])), ['a']);
  assert.deepEqual(await columnsOf(withKeys(['decision', 'a']), { resultColumn: 'Decision' }), [
    'a',
  ]);
});

test('keys that differ only in case or Unicode normalisation have separate columns', async () => {
  const keys = [
    'MIME-Version',
    'Mime-Version',
    'A',
    'a',
    'Ａ',
    'é',
    'e\u0301',
    'ß',
    'SS',
    'İ',
    'i',
  ];
  for (const order of [keys, keys.toReversed()]) {
    const [header = []] = await table(
      order.map((key) => contentItem({ metadata: { [key]: 'x' } })),
    );
    assert.deepEqual(header.slice(1), order);
  }
});

test('review.columns selects the keys that have a column', async () => {
  const metadata = { a: 'x', b: 'y', c: 'z' };
  assert.deepEqual(await columnsOf(metadata, { columns: ['c', 'a', 'missing'] }), ['a', 'c']);
  assert.deepEqual(await columnsOf(metadata, { columns: [] }), []);
});

test('only the first 200 keys of a file have columns', async () => {
  const keys = Array.from({ length: 250 }, (_, n) => `k${n}`);
  const rows = [
    contentItem({ metadata: withKeys(keys) }),
    contentItem({ metadata: { k249: 'x' } }),
  ];
  const [header = [], , last = []] = await table(rows);
  assert.deepEqual(header.slice(1), keys.slice(0, 200));
  assert.deepEqual([...new Set(last.slice(1))], ['']);
});

test('lone surrogates and NULs are replaced in every cell', async () => {
  const item = contentItem({ content: 'a\0b\ud800', expected: 'c\0', metadata: { d: 'e\0' } });
  const [, row] = await table([item]);
  assert.deepEqual(row, ['a\ufffdb\ufffd', 'e\ufffd', 'c\ufffd']);
});
