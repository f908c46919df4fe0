import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ContentItem } from '../../../../src/core/record.ts';
import {
  keyOfHeader,
  problemWithReferenceColumn,
} from '../../../../src/kinds/review/metadata/column-names.ts';
import { DEFAULT_COLUMNS } from '../../../../src/kinds/review/metadata/columns.ts';
import { readCsv } from './plain-csv.ts';
import { contentItem, uploadOf } from './sample.ts';

async function table(
  items: readonly ContentItem[],
  options = DEFAULT_COLUMNS,
): Promise<string[][]> {
  return readCsv(await uploadOf(items, options));
}

test('Content comes first, then metadata in order of first appearance, the expected result, and the reference', async () => {
  const items = [
    contentItem({ metadata: { b: 'x' } }),
    contentItem({ offset: 42, metadata: { a: 7, b: '' }, expected: 'ham' }),
  ];
  assert.deepEqual(await table(items), [
    ['Content', 'b', 'a', 'Expected result', 'connector_ref'],
    ['hello', 'x', '', '', '[3,41,1767225600000,"user-1","b"]'],
    ['hello', '', '7', 'ham', '[3,42,1767225600000,"user-1","=a,b"]'],
  ]);
});

test('a file without expected results has no such column', async () => {
  assert.deepEqual(await table([contentItem({ key: null })]), [
    ['Content', 'connector_ref'],
    ['hello', '[3,41,1767225600000,null]'],
  ]);
});

test('keys similar to another column get an escaped header, which is reversible', async () => {
  const keys = [
    'Status',
    'status',
    ' Content',
    'Labels',
    'Expected result',
    'EXPECTED RESULT',
    'Service result',
    'a Result ',
    '',
    ' ',
    'connector_ref',
    'Connector_Ref',
    'meta:x',
    '__proto__',
    'line\nbreak',
    'nul\0',
    '\ufeffbom',
    '\ud800',
    'Ａ',
    'A',
    'a',
    'a ',
    'é',
    'e\u0301',
    'É',
  ];
  const [header = []] = await table([
    contentItem({ metadata: Object.fromEntries(keys.map((key) => [key, 'x'])) }),
  ]);
  const names = header.slice(1, -1);
  assert.deepEqual(names.map(keyOfHeader), keys);
  assert.equal(new Set(names).size, names.length);
  const others = new Set(['content', 'status', 'labels', 'expected result', 'connector_ref']);
  assert.deepEqual(
    names.filter((name) => others.has(name.trim().toLowerCase())),
    [],
  );
  assert.deepEqual(
    names.filter((name) => / result$/i.test(name)),
    [],
  );
  assert.equal(names[0], 'meta:^status');
  assert.equal(names[6], 'meta:^service%20result');
});

test('an ordinary key is its own header, in any script', async () => {
  const keys = ['user_id', 'User Name', 'язык', '=cmd', 'a,b', 'quote"d', '🙂'];
  const [header = []] = await table([
    contentItem({ metadata: Object.fromEntries(keys.map((key) => [key, 'x'])) }),
  ]);
  assert.deepEqual(header.slice(1, -1), keys);
});

test('keys that differ only in case or in Unicode normalisation are columns under their own names, in any order', async () => {
  const keys = [
    'MIME-Version',
    'Mime-Version',
    'Message-Id',
    'Message-ID',
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
    assert.deepEqual(header.slice(1, -1), order);
  }
});

test('keys beyond the column limit travel inside the reference', async () => {
  const items = [contentItem({ metadata: { a: 'x', b: 1, c: { d: '"' } } })];
  const [header, row] = await table(items, { ...DEFAULT_COLUMNS, maxMetadataColumns: 1 });
  assert.deepEqual(header, ['Content', 'a', 'connector_ref']);
  assert.deepEqual(JSON.parse(row?.[2] ?? '')[5], {
    m: [
      ['b', '1'],
      ['c', '{"d":"\\""}'],
    ],
  });
});

test('strings that UTF-8 cannot hold travel inside the reference, and their cell shows what can be shown', async () => {
  const [, row] = await table([contentItem({ metadata: { a: 'x\ud800', b: 'y\0', c: 'z' } })]);
  assert.deepEqual(row?.slice(1, 4), ['x\ufffd', 'y\ufffd', 'z']);
  assert.deepEqual(JSON.parse(row?.[4] ?? ''), [
    3,
    41,
    1767225600000,
    'user-1',
    'c',
    {
      m: [
        ['a', '"x\\ud800"'],
        ['b', '"y\\u0000"'],
      ],
    },
  ]);
});

test('the connector column refuses names that the result file has a use for', () => {
  for (const name of ['', ' x', 'Status', 'content', 'My result', 'meta:x', 'a\nb']) {
    assert.notEqual(problemWithReferenceColumn(name), undefined, name);
  }
  assert.equal(problemWithReferenceColumn('connector_ref'), undefined);
});

test('no cell has a NUL: it is replaced, and carried in the reference where it must be preserved', async () => {
  const [, row] = await table([
    contentItem({ content: 'a\0b\ud800', expected: 'c\0', metadata: { d: 'e\0' } }),
  ]);
  assert.deepEqual(row?.slice(0, 3), ['a\ufffdb\ufffd', 'e\ufffd', 'c\ufffd']);
  assert.match(row?.[3] ?? '', /"x":"c\\u0000","m":\[\["d","\\"e\\\\u0000\\""\]\]/);
});

test('a metadata key with the configured name of the result column travels under another name', async () => {
  const [header] = await table([contentItem({ metadata: { decision: 'x' } })], {
    ...DEFAULT_COLUMNS,
    resultColumn: 'Decision',
  });
  assert.deepEqual(header, ['Content', 'meta:decision', 'connector_ref']);
});
