import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BufferPool } from '../../../../../src/core/bytes/buffer-pool.ts';
import { CsvRows } from '../../../../../src/kinds/review/csv-rows.ts';
import { contentItem, openedOf, ROW_KEY, referenceOf, UPLOAD, uploadOf } from '../items.ts';
import { readCsv } from '../plain-csv.ts';

test('the body follows RFC 4180 in UTF-8 without a byte order mark', async () => {
  const items = [contentItem({ content: 'a,"b"\r\nc\rd\ne', metadata: { lang: 'en' } })];
  assert.equal(
    await uploadOf(items),
    `Content,lang,connector_ref\r\n"a,""b""\r\nc\rd\ne",en,"${referenceOf(items[0])}"\r\n`,
  );
});

test('an independent reader finds every row of a body with many slabs', async () => {
  const items = Array.from({ length: 1500 }, (_, offset) =>
    contentItem({
      offset,
      content: `${'"'.repeat(offset % 7)}€${offset}`,
      metadata: { [`k${offset % 3}`]: offset },
    }),
  );
  const [header, ...records] = readCsv(await uploadOf(items));
  assert.deepEqual(header, ['Content', 'k0', 'k1', 'k2', 'connector_ref']);
  assert.deepEqual(
    records.map((record) => record[0]),
    items.map((_, offset) => `${'"'.repeat(offset % 7)}€${offset}`),
  );
  assert.deepEqual(
    records.map((record) => openedOf(record[4] ?? '').offset),
    items.map((item) => item.offset),
  );
});

test('building a large body yields to the event loop', async () => {
  const rows = new CsvRows(UPLOAD, new BufferPool(0), ROW_KEY);
  for (let offset = 0; offset < 40; offset++)
    rows.add(contentItem({ offset, content: 'x'.repeat(100_000) }));
  let turns = 0;
  const count = () => {
    turns++;
    handle = setImmediate(count);
  };
  let handle = setImmediate(count);
  await rows.finish();
  clearImmediate(handle);
  assert.ok(turns >= 4, `${turns} turns`);
});

test('a failing item leaves only empty columns in the body', async () => {
  const rows = new CsvRows(UPLOAD, new BufferPool(0), ROW_KEY);
  const item = contentItem({ metadata: { a: 'x', b: 'x', d: 'x' } });
  const content = Object.defineProperty({ ...item.content }, 'hasEscapes', {
    get: () => assert.fail('no text'),
  });
  rows.add(contentItem({ metadata: { a: 'first' } }));
  assert.throws(() => rows.add({ ...item, content }), /no text/);
  rows.add(contentItem({ metadata: { d: 'last' } }));
  const { body } = await rows.finish();
  assert.equal(
    body.toString(),
    [
      'Content,a,b,d,connector_ref',
      `hello,first,,,"${referenceOf({ metadata: { a: 'first' } })}"`,
      `hello,,,last,"${referenceOf({ metadata: { d: 'last' } })}"`,
      '',
    ].join('\r\n'),
  );
});

test('a row that cannot be allocated leaves the other rows unchanged', async () => {
  class SmallPool extends BufferPool {
    override take(bytes: number): Buffer<ArrayBuffer> {
      if (bytes > 100_000) throw new RangeError('no memory');
      return super.take(bytes);
    }
  }
  const pool = new SmallPool(0);
  const rows = new CsvRows(UPLOAD, pool, ROW_KEY);
  rows.add(contentItem({ content: 'a' }));
  assert.throws(() => rows.add(contentItem({ content: 'b'.repeat(100_000) })), /no memory/);
  rows.add(contentItem({ content: 'c' }));
  const encoded = await rows.finish();
  assert.deepEqual(
    readCsv(String(encoded.body)).map(([content]) => content),
    ['Content', 'a', 'c'],
  );
  encoded.release();
  assert.equal(pool.lentBytes, 0);
});
