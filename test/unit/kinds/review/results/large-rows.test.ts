import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collectRows, decisionOf, kindWithFile } from '../sample.ts';

const HEADER = 'Content,Status,Acme result,Labels,connector_ref\r\n';
const row = (content: string, offset: number) =>
  `"${content.replaceAll('"', '""')}",SUCCESS,ok,,"[3,${offset},7,""k""]"\r\n`;

test('rows that are larger than a piece come whole, and so do the rows behind them', async () => {
  const contents = ['a', `"${'x"y, \r\n'.repeat(40_000)}`, 'b', '"'.repeat(300_000), 'c'];
  const file = Buffer.from(HEADER + contents.map(row).join(''));
  for (const size of [file.length, 65_536, 1000]) {
    const pieces: Buffer[] = [];
    for (let at = 0; at < file.length; at += size) pieces.push(file.subarray(at, at + size));
    const { rows, error } = await collectRows(kindWithFile(pieces, { includeContent: true }));
    assert.equal(error, undefined);
    const found = rows.map((one) => ('record' in one ? decisionOf(one.record).content : one));
    assert.deepEqual(found, contents, `in pieces of ${size} bytes`);
  }
});

test('a row of more than the 8 MiB that are held for it is read by csv-parse, with all that follows', async () => {
  const contents = ['a', 'x'.repeat(9 * 1024 * 1024), 'b'];
  const { rows, error } = await collectRows(
    kindWithFile(HEADER + contents.map(row).join(''), { includeContent: true }),
  );
  assert.equal(error, undefined);
  assert.deepEqual(
    rows.map((one) => ('record' in one ? decisionOf(one.record).content : one)),
    contents,
  );
});

test('a row of exactly the size allowed is read, and one that is larger ends the file', async () => {
  const whole = row('x'.repeat(1000), 1);
  const read = (maxRowBytes: number) =>
    collectRows(kindWithFile(HEADER + row('a', 0) + whole + row('b', 2), { maxRowBytes }));
  assert.equal((await read(whole.length)).rows.length, 3);
  const { rows, error } = await read(900);
  assert.equal(rows.length, 1);
  assert.match(String(error), /larger than allowed/);
});
