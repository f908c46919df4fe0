import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  largeRowTurn,
  maxRowBytes,
} from '../../../../../src/kinds/review/results/result-reader.ts';
import { collectRows, decisionOf, JOB, kindWithFile, referenceOf } from '../sample.ts';

const MIB = 1024 * 1024;
const HEADER = 'Content,Status,Acme result,Labels,connector_ref\r\n';
const row = (content: string, offset: number) =>
  `"${content.replaceAll('"', '""')}",SUCCESS,r${offset},,${referenceOf({ offset })}\r\n`;

function piecesOf(file: Buffer, size: number): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0; at < file.length; at += size) pieces.push(file.subarray(at, at + size));
  return pieces;
}

test('rows larger than a piece are read completely, and so are the rows after them', async () => {
  const contents = [
    'a',
    `"${'x"y, \r\n'.repeat(40_000)}`,
    'b',
    '"'.repeat(300_000),
    'c',
    'x'.repeat(9 * MIB),
    'd',
  ];
  const file = Buffer.from(HEADER + contents.map(row).join(''));
  for (const size of [file.length, 65_536, 10_000]) {
    const { rows, error } = await collectRows(kindWithFile(piecesOf(file, size)));
    assert.equal(error, undefined);
    assert.deepEqual(
      rows.map((one) => ('record' in one ? decisionOf(one.record).result : one)),
      contents.map((_, offset) => `r${offset}`),
      `in pieces of ${size} bytes`,
    );
  }
});

test('the maximum size of a row is twice the upload plus an allowance for the service', async () => {
  const most = maxRowBytes({ ...JOB, uploadedBytes: MIB });
  assert.equal(most, 4 * MIB);
  const read = (bytes: number) => {
    const file = Buffer.from(HEADER + row('a', 0) + row('x'.repeat(bytes), 1) + row('b', 2));
    const job = { ...JOB, uploadedBytes: MIB };
    return collectRows(kindWithFile(piecesOf(file, 65_536)), undefined, job);
  };
  assert.equal((await read(most - 1000)).rows.length, 3);
  const { rows, error } = await read(most + 65_536);
  assert.equal(rows.length, 1);
  assert.match(String(error), /larger than allowed/);
  assert.equal(maxRowBytes({ ...JOB, uploadedBytes: 1024 * MIB }), 64 * MIB);
});

test('only one file at a time buffers a large row, and the next follows even after an error', async () => {
  const begun: string[] = [];
  const file = (name: string, end: Promise<void>) =>
    async function* () {
      yield Buffer.from(`${HEADER}"`);
      yield Buffer.alloc(2 * MIB, 'x');
      begun.push(name);
      await end;
      throw new Error(`end of ${name}`);
    };
  const first = Promise.withResolvers<void>();
  const second = Promise.withResolvers<void>();
  second.resolve();
  const one = collectRows(kindWithFile(file('one', first.promise)));
  const other = collectRows(kindWithFile(file('other', second.promise)));
  while (begun.length === 0) await new Promise(setImmediate);
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
  assert.deepEqual(begun, ['one']);
  first.resolve();
  assert.equal(String((await one).error), 'Error: end of one');
  assert.equal(String((await other).error), 'Error: end of other');
  (await largeRowTurn())();
});
