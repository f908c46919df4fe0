import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_COLUMNS } from '../../../src/review/columns.ts';
import { encodeCsv } from '../../../src/review/csv-upload.ts';
import { readCsv } from './plain-csv.ts';
import { contentItem } from './sample.ts';

test('the body is RFC 4180: CRLF between records, UTF-8 without a byte order mark, cells quoted where needed', async () => {
  const items = [contentItem({ content: 'a,"b"\r\nc\rd\ne', metadata: { lang: 'en' } })];
  const { body, rows } = await encodeCsv(items, DEFAULT_COLUMNS);
  assert.equal(rows, 1);
  assert.equal(
    body.toString(),
    'Content,lang,connector_ref\r\n"a,""b""\r\nc\rd\ne",en,"[3,41,1767225600000,""user-1"",""lang""]"\r\n',
  );
});

test('a line end of any kind is quoted, also when it stands alone', async () => {
  for (const content of ['\r', '\n', '\r\n', '\n\r', 'a\n', '\ra']) {
    const { body } = await encodeCsv([contentItem({ content })], DEFAULT_COLUMNS);
    assert.ok(body.toString().startsWith(`Content,connector_ref\r\n"${content}",`), JSON.stringify(content));
  }
});

test('content that a spreadsheet would take for a formula is uploaded as it is', async () => {
  for (const content of ['=cmd|calc', '+1', '-1', '@x', '\t=1', "'x", '＝1']) {
    const { body } = await encodeCsv([contentItem({ content })], DEFAULT_COLUMNS);
    assert.equal(readCsv(body.toString())[1]?.[0], content);
  }
});

test('when asked for, such cells begin with an apostrophe, headers included, and what they were travels beside them', async () => {
  const escaping = { ...DEFAULT_COLUMNS, escapeFormulas: true };
  const metadata = { '=key': '@value', below: -1, plain: "'=x", text: '-1' };
  const { body } = await encodeCsv([contentItem({ content: '=cmd|calc', metadata, expected: '+ok' })], escaping);
  const [header = [], row = []] = readCsv(body.toString());
  assert.deepEqual(header.slice(1), ['meta:%3dkey', 'below', 'plain', 'text', 'Expected result', 'connector_ref']);
  assert.deepEqual(row.slice(0, -1), ["'=cmd|calc", "'@value", '-1', "'=x", "'-1", "'+ok"]);
  for (const content of ['+1', '-1', '@x', '\t=1', '\r=1', '\n=1', '＝1', '＋1', '－1', '＠x']) {
    const cell = readCsv((await encodeCsv([contentItem({ content })], escaping)).body.toString())[1]?.[0];
    assert.equal(cell, `'${content}`);
  }
  for (const content of ['a=1', ' =1', "'=1", '']) {
    const cell = readCsv((await encodeCsv([contentItem({ content })], escaping)).body.toString())[1]?.[0];
    assert.equal(cell, content);
  }
});

test('an independent reader finds every row again, more than one slice of them and larger than estimated', async () => {
  const items = Array.from({ length: 1500 }, (_, offset) =>
    contentItem({ offset, content: `${'"'.repeat(offset % 7)}€${offset}`, metadata: { [`k${offset % 3}`]: offset }, bytes: 1 }),
  );
  const { body, rows } = await encodeCsv(items, DEFAULT_COLUMNS);
  const [header, ...records] = readCsv(body.toString());
  assert.equal(rows, 1500);
  assert.deepEqual(header, ['Content', 'k0', 'k1', 'k2', 'connector_ref']);
  assert.deepEqual(
    records.map((record) => record[0]),
    items.map((item) => item.content),
  );
  assert.deepEqual(
    records.map((record) => JSON.parse(record[4] ?? '')[1]),
    items.map((item) => item.offset),
  );
});

test('the event loop gets its turn while a large batch is encoded', async () => {
  const items = Array.from({ length: 3000 }, (_, offset) => contentItem({ offset }));
  let turns = 0;
  const count = () => {
    turns++;
    handle = setImmediate(count);
  };
  let handle = setImmediate(count);
  await encodeCsv(items, DEFAULT_COLUMNS);
  clearImmediate(handle);
  assert.ok(turns >= 10, `${turns} turns`);
});

test('items of a megabyte are encoded a few at a time', async () => {
  const content = 'x,'.repeat(500_000);
  const items = Array.from({ length: 5 }, (_, offset) => contentItem({ offset, content, bytes: content.length }));
  const { body } = await encodeCsv(items, DEFAULT_COLUMNS);
  assert.deepEqual(
    readCsv(body.toString())
      .slice(1)
      .map((record) => record[0] === content),
    [true, true, true, true, true],
  );
});
